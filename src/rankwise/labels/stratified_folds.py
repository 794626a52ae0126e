"""Rows distributed over folds so that each fold has the same mixture of labels, whatever their kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._sklearn import cross_val_predict_encodes
from rankwise._types import Places
from rankwise.labels.encoded_labels import Labels
from rankwise.labels.encoding import encode

_ENOUGH = 10  # rows of a stratum: the largest number of folds in common use


def as_labels(y: Any, classes: Any = None) -> Labels:
    """Labels of any form as one object that scikit-learn's splitters and searches take in place of ``y``.

    With it ``cv=5``, ``cross_val_score``, ``cross_val_predict``, ``GridSearchCV`` and ``learning_curve`` work for
    intervals, candidate sets and missing labels as for exact ones: the object can be indexed and stratified, every fold
    has all classes in their order, and every estimator and metric of rankwise takes it.

    Parameters
    ----------
    y : array-like
        Labels of any form that :func:`encode` reads: an (n, 2) table with NaN, a list of tuples and sets, texts ...
    classes : sequence, optional
        The classes, lowest first. Needed where neither the container nor numbers give their order.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(200, 3, 4, noise=0.1, random_state=0)
    >>> labels = rw.labels.as_labels([k if k < 3 else (k, None) for k in y.tolist()])  # 3 or more, 4 or more
    >>> cross_val_score(rw.SVOR(), X, labels, cv=5).shape
    (5,)
    """
    labels = encode(y, classes)
    return FoldedLabels(labels.order, labels.lower, labels.upper, labels.mask)


@dataclass(frozen=True, eq=False, repr=False)
class FoldedLabels(Labels):
    """Labels whose array is what splitters stratify by: unless all are exact, rare labels share a stratum.

    scikit-learn's splitters warn about, or reject, a stratum with fewer rows than folds. Here neighbours in the order
    of :meth:`Labels.distinct` are merged until they are enough, and named after the first and the last of them.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        exact = bool(self.is_exact.all())
        if cross_val_predict_encodes() and not (exact and (self.classes[1:] > self.classes[:-1]).all()):
            lost = "the order of the classes does" if exact else "imprecise labels do"
            raise ValueError(
                "scikit-learn's cross_val_predict replaces labels by numbers of its own, sorted, for predict_proba and "
                f"decision_function, which {lost} not survive. Use rankwise.evaluation.cross_val_predict."
            )
        if exact:
            return super().__array__(dtype, copy)
        self._refuse_metrics()
        distinct, groups = self.distinct()
        names = Labels.__array__(distinct, np.str_)
        strata = _joined(np.bincount(groups))
        last = np.flatnonzero(np.diff(strata, append=-1))
        first = np.append(0, last[:-1] + 1)
        named = [names[a] if a == b else f"{names[a]} ... {names[b]}" for a, b in zip(first, last, strict=True)]
        array = np.array(named)[strata][groups]
        return array if dtype is None else array.astype(dtype)


def _joined(counts: Places) -> Places:
    """Stratum of every group: neighbours are merged until they have enough rows; a small rest joins the last.

    >>> _joined(np.array([12, 4, 7, 3])).tolist()
    [0, 1, 1, 1]
    """
    strata, stratum, size = np.zeros(counts.size, dtype=np.intp), 0, 0
    for group, count in enumerate(counts.tolist()):
        strata[group] = stratum
        size += count
        if size >= _ENOUGH:
            stratum, size = stratum + 1, 0
    if size:
        strata[strata == stratum] = max(stratum - 1, 0)
    return strata


def deal(strata: Places, n_folds: int, generator: np.random.RandomState | None = None) -> Places:
    """Fold of every row: in turn over the rows sorted by stratum, in random order within one if there is a generator.

    Without a generator the rows of a stratum stay in blocks, in their order: the first fold gets the first of them.

    Examples
    --------
    >>> deal(np.array([0, 0, 0, 1, 1, 1]), 3)
    array([0, 1, 2, 0, 1, 2])
    """
    turns = np.arange(strata.size) % n_folds
    folds = np.empty(strata.size, dtype=np.intp)
    if generator is not None:
        folds[np.lexsort((generator.permutation(strata.size), strata))] = turns
    else:
        sorted_rows = np.argsort(strata, kind="stable")
        # Within a stratum the turns are put in order, so that a fold gets a block of its rows.
        folds[sorted_rows] = turns[np.lexsort((turns, strata[sorted_rows]))]
    return folds
