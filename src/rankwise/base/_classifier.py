"""What online and batch estimators of ordered classes share as classifiers of scikit-learn."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from rankwise import metrics


class OrdinalClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Classifier that is judged by the ranks of its classes; it says which kinds of labels it learns from."""

    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval"})
    classes_: NDArray[Any]

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean absolute error in ranks; to the nearest end where ``y`` is an interval. Higher is better."""
        return -metrics.mean_absolute_error(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # One direction for all classes cannot separate classes that do not lie in a row, as some test data do not.
        tags.classifier_tags.poor_score = True
        return tags
