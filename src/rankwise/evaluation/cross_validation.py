"""Cross-validation for labels of every form.

scikit-learn's stratified splitter rejects missing labels and tables of interval ends. Here rows are sorted by label,
exact ones by class first, then partial ones by lower and upper end, then missing ones, and assigned to the folds in
turn. Any range of the sorted rows is thereby spread evenly, up to one row.
"""

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from rankwise._threads import at_most_cores
from rankwise._types import Places
from rankwise._words import either
from rankwise.base.row_data import row_count, rows_at
from rankwise.bounds.checks import integer
from rankwise.calibration.inner_fits import fitted_to, given_splits, known_classes, rows_and_labels
from rankwise.labels import Labels, check_weights, encode
from rankwise.labels.stratified_folds import deal

Split = tuple[Places, Places]


class StratifiedIntervalKFold(BaseCrossValidator):
    """K folds with the same mixture of labels in each, for ``cv=`` of scikit-learn's cross-validation.

    Takes every form of label that :func:`rankwise.labels.encode` reads: exact, intervals, candidate sets, missing. For
    exact labels the folds are as balanced as those of scikit-learn's ``StratifiedKFold``; there is no warning for
    classes with fewer rows than folds, which are spread as evenly as possible.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    n_repeats : int, default=1
        Number of repetitions with other folds; more than one needs ``shuffle``.
    shuffle : bool, default=False
        Assign rows with the same label in random order. Without it they stay in blocks, in the order of the rows: the
        first fold gets the first of them.
    random_state : int, RandomState or None, default=None
        Makes the shuffling repeatable. Only with ``shuffle``.
    classes : sequence, optional
        The classes, lowest first; needed where labels are intervals of strings without an order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 3, 4, noise=0.1, random_state=0)
    >>> intervals = rw.annotation.partial_labels(y, 0.5, random_state=0).astype(float)
    >>> intervals[::7] = np.nan
    >>> model = rw.PRIL(classes=np.unique(y), random_state=0)
    >>> cross_val_score(model, X, intervals, cv=StratifiedIntervalKFold(3)).shape
    (3,)
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        integer(2, n_splits=n_splits)
        integer(1, n_repeats=n_repeats)
        if not isinstance(shuffle, bool):
            raise ValueError(f"shuffle must be True or False. Got {shuffle!r} instead.")
        if not shuffle and random_state is not None:
            raise ValueError(f"random_state needs shuffle=True: nothing is random without it. Got {random_state!r}.")
        if not shuffle and n_repeats > 1:
            raise ValueError(f"n_repeats needs shuffle=True: all repeats would be the same. Got {n_repeats!r}.")
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.shuffle = shuffle
        self.random_state = random_state
        self.classes = classes

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits, folds times repeats. The arguments exist for scikit-learn and are ignored."""
        return int(self.n_splits) * int(self.n_repeats)

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Split]:
        """Row numbers to learn from and to test on, for each split in turn.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; only their number matters.
        y : labels of any form
            See :func:`rankwise.labels.encode`.
        groups : object, optional
            Exists for scikit-learn; a warning tells that groups are not kept together.

        Yields
        ------
        train : int array
            Rows to learn from.
        test : int array
            Rows to test on.
        """
        if groups is not None:
            warnings.warn(
                f"The groups parameter is ignored by {type(self).__name__}: rows of a group are not kept together.",
                UserWarning,
                stacklevel=2,
            )
        if y is None:
            raise ValueError("y must be given: folds are balanced by the labels. Got None.")
        yield from super().split(X, y)

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Places]:
        n = row_count(X)
        _, strata = encode(y, self.classes, n_rows=n, ordered=False).distinct()
        if self.n_splits > n:
            name = either("n_splits", "--folds")
            raise ValueError(f"{name} must be at most the number of rows, {n}. Got {self.n_splits!r} instead.")
        generator = check_random_state(self.random_state) if self.shuffle else None
        for _ in range(self.n_repeats):
            folds = deal(strata, self.n_splits, generator)
            for fold in range(self.n_splits):
                yield np.flatnonzero(folds == fold)


def splits_of(cv: Any, X: Any, labels: Labels) -> list[Split]:
    """Train and test rows of a number of folds, or of a splitter."""
    return given_splits(StratifiedIntervalKFold(int(cv)) if isinstance(cv, Integral) else cv, X, labels)


def cross_val_predict(
    estimator: Any, X: Any, y: Any, *, cv: Any = 5, method: str = "predict", classes: Any = None,
    sample_weight: Any = None, n_jobs: int | None = None,
) -> NDArray[Any]:  # fmt: skip
    """Predict every row with a model that was fitted to the rows of the other folds.

    Like scikit-learn's function of this name, which cannot be used for probabilities from imprecise labels: it replaces
    labels by numbers of its own. Every fold has all classes, so that columns mean the same in all of them.

    Parameters
    ----------
    estimator : estimator
        Clones of it are fitted.
    X : table or matrix
        Rows, in a form that the estimator takes.
    y : array-like
        Labels of any form that :func:`rankwise.labels.encode` reads.
    cv : int, splitter or list of (train, test), default 5
        Number of folds of :class:`StratifiedIntervalKFold`, or other folds; each row must be in one test set.
    method : str, default "predict"
        Method of the models to call: "predict", "predict_proba", "decision_function", "project" ...
    classes : sequence, optional
        The classes, lowest first.
    sample_weight : array-like of shape (n,), optional
        Importance of each row.
    n_jobs : int, optional
        Number of folds to fit at the same time, in threads; at most one a core.

    Returns
    -------
    array
        One entry a row.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(300, 3, 4, noise=0.5, random_state=0)
    >>> labels = [k if i % 2 else (max(1, k - 1), k) for i, k in enumerate(y)]
    >>> cross_val_predict(rw.CumulativeLink(), X, labels, method="predict_proba").shape
    (300, 4)
    """
    if classes is None and not isinstance(y, Labels):
        classes = known_classes(estimator, prefit=False)
    X, labels = rows_and_labels(X, y, classes)
    weight = check_weights(sample_weight, len(labels))
    splits = splits_of(cv, X, labels)
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(len(labels))):
        raise ValueError("cross_val_predict needs splits whose test parts hold every row once.")

    def predict(train: Places, test: Places) -> NDArray[Any]:
        return np.asarray(getattr(fitted_to(estimator, X, labels, weight, train), method)(rows_at(X, test)))

    folds = Parallel(n_jobs=at_most_cores(n_jobs), prefer="threads")(delayed(predict)(*split) for split in splits)
    return np.asarray(np.concatenate(folds)[np.argsort(tested)])
