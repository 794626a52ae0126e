"""Ordered confusion matrix of labels of any form, and how it counts partial labels."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import refuse_many_classes
from rankwise._types import Floats
from rankwise.labels import Labels
from rankwise.metrics.comparison import compare
from rankwise.metrics.ordinal_metrics import MOST_OF_A_TABLE

Counting = Literal["nearest", "shared", "farthest"]


def interval_confusion(
    y_true: Any, y_pred: Any, *, counting: Counting = "nearest", classes: Any = None, sample_weight: Any = None
) -> Floats:
    """(K, K) sums of weights in class order, row = class of the label, column = predicted class.

    Without partial labels it is :func:`rankwise.metrics.confusion_matrix`. Rows without a label, or with one that
    admits every class, are left out.

    Parameters
    ----------
    y_true, y_pred, classes, sample_weight
        As in :func:`rankwise.metrics.mean_absolute_error`.
    counting : {"nearest", "shared", "farthest"}, default="nearest"
        How to count a label that admits several classes. ``"nearest"``: as the class nearest to the prediction, the
        lower of two, so that the distances add up to the interval-insensitive MAE; ``"farthest"``: as the farthest one,
        so that they add up to the largest MAE that the labels allow; ``"shared"``: as all of them, in equal shares.

    Examples
    --------
    >>> interval_confusion([(1, 2), 3], [3, 3], classes=[1, 2, 3, 4])
    array([[0., 0., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 0.]])
    >>> interval_confusion([(1, 2), 3], [3, 3], classes=[1, 2, 3, 4], counting="shared")[:, 2]
    array([0.5, 0.5, 1. , 0. ])
    """
    if counting not in get_args(Counting):
        raise ValueError(f"counting must be 'nearest', 'shared' or 'farthest'. Got {counting!r} instead.")
    labels, codes, weight = compare(y_true, y_pred, classes, sample_weight, "interval_confusion")
    return confusion_of(labels, codes, weight, counting)


def confusion_of(labels: Labels, codes: NDArray[np.integer[Any]], weight: Floats, counting: Counting) -> Floats:
    """The matrix of encoded labels that all say something."""
    n_classes = len(labels.order)
    refuse_many_classes("a confusion matrix", n_classes, MOST_OF_A_TABLE)
    if counting == "shared":
        admitted = labels.admissible()
        share = weight / admitted.sum(axis=1)
        return np.array([np.bincount(codes, share * column, n_classes) for column in admitted.T], dtype=np.float64)
    charged = labels.nearest(codes) if counting == "nearest" else labels.farthest(codes)
    cells = np.bincount(charged * n_classes + codes, weight, n_classes * n_classes)
    return np.asarray(cells, dtype=np.float64).reshape(n_classes, n_classes)
