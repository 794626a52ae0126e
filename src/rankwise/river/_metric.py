"""Mean absolute error in ranks as a river metric."""

from typing import Any

from river import base, metrics, stats

from rankwise.labels import declared_order, is_missing

_SETS = (list, set, frozenset)


class OrdinalMAE(metrics.base.Metric):
    """Mean absolute error in ranks; to the nearest admissible class where the label is imprecise.

    Examples without a label, or with one that admits every class, do not count.

    Parameters
    ----------
    classes : array-like
        The classes, lowest first.

    Examples
    --------
    >>> from rankwise.river import OrdinalMAE
    >>> metric = OrdinalMAE(classes=["low", "medium", "high"])
    >>> metric.update("low", "high")
    >>> metric.update(("low", "medium"), "medium")
    >>> metric.update(None, "low")
    >>> metric
    OrdinalMAE: 1.
    """

    _fmt = ",.6f"

    def __init__(self, classes: Any) -> None:
        self.classes = classes
        self._index = declared_order(classes).index
        self._mean = stats.Mean()

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Count one example."""
        distance = self._distance(y_true, y_pred)
        if distance is not None:
            self._mean.update(distance, w)

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take one example out again."""
        distance = self._distance(y_true, y_pred)
        if distance is not None:
            self._mean.revert(distance, w)

    def get(self) -> float:
        """The mean so far."""
        return float(self._mean.get())

    @property
    def bigger_is_better(self) -> bool:
        """No: it is an error."""
        return False

    @property
    def requires_labels(self) -> bool:
        """Yes: it compares classes, not probabilities."""
        return True

    def works_with(self, model: Any) -> bool:
        """Whether it can judge this model: any classifier."""
        return isinstance(model, base.Classifier)

    def _distance(self, y_true: Any, y_pred: Any) -> float | None:
        """Ranks to the nearest class that a label admits; None for a label that says nothing."""
        if is_missing(y_true):
            return None
        rank, n_classes = self._rank(y_pred), len(self._index)
        if isinstance(y_true, tuple) and len(y_true) == 2:
            lower = 0 if is_missing(y_true[0]) else self._rank(y_true[0])
            upper = n_classes - 1 if is_missing(y_true[1]) else self._rank(y_true[1])
            if lower > upper:
                raise ValueError(f"the lower end of an interval must not be above the upper one. Got {y_true!r}.")
            admitted = set(range(lower, upper + 1))
        else:
            admitted = {self._rank(label) for label in (y_true if isinstance(y_true, _SETS) else [y_true])}
        if not admitted:
            raise ValueError("a candidate set must not be empty.")
        says_nothing = len(admitted) == n_classes > 1
        return None if says_nothing else float(min(abs(label - rank) for label in admitted))

    def _rank(self, label: Any) -> int:
        try:
            return int(self._index[label])
        except (KeyError, TypeError):
            raise ValueError(f"a label must be one of the classes {list(self._index)}. Got {label!r}.") from None
