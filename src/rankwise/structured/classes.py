"""Unordered classes with shared weights: the single-vector and the mixed form of the multi-class perceptron.

In the multi-vector form (:class:`rankwise.ImportanceWeightedPerceptron`) every class has its own vector and learns
nothing from the others. If classes have a description (the words of a folder's name, the properties of a product), one
vector can score pairs of input and class through joint features psi(x, y): the single-vector form. The mixed form adds
a vector for each class.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from rankwise._types import Floats
from rankwise.labels import is_missing
from rankwise.structured.structured_model import StructuredModel


def dense(x: Any) -> Floats:
    """A row as a vector; a row of a sparse matrix has two dimensions."""
    return np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=np.float64).ravel()


class ClassModel(StructuredModel):
    """Classes in a fixed order. Annotations: a class, a (lowest, highest) tuple, a set of classes, or None."""

    def __init__(self, classes: Sequence[Any], fit_intercept: bool = True) -> None:
        self.classes = list(classes)
        self.fit_intercept = fit_intercept
        self._rank = {y: k for k, y in enumerate(self.classes)}
        if len(self._rank) != len(self.classes) or len(self.classes) < 2:
            raise ValueError(f"classes must be at least two different ones. Got {self.classes} instead.")

    def outputs(self, x: Any) -> Sequence[Any]:
        """All classes."""
        return self.classes

    def _admitted(self, annotation: Any) -> set[int]:
        rank = self._rank
        try:
            if isinstance(annotation, tuple):
                lower, upper = annotation
                admitted = set(range(rank[lower], rank[upper] + 1))
            else:
                admitted = {rank[y] for y in (annotation if isinstance(annotation, set | frozenset) else [annotation])}
        except (KeyError, TypeError, ValueError):
            admitted = set()
        if not admitted:
            raise ValueError(
                f"{annotation!r} must be one of the classes {self.classes}, a (lowest, highest) tuple of them, lowest "
                f"first, or a set of them."
            )
        return admitted

    def admits(self, annotation: Any, y: Any) -> bool:
        """Return whether a class is the annotation, or in it."""
        return self._rank[y] in self._admitted(annotation)

    def is_missing(self, annotation: Any) -> bool:
        """Return whether the annotation is missing or admits every class."""
        return is_missing(annotation) or len(self._admitted(annotation)) == len(self.classes)

    def _input(self, x: Any) -> Floats:
        return np.append(dense(x), 1.0) if self.fit_intercept else dense(x)


class SharedClasses(ClassModel):
    """Single-vector form: the score of a class is ``w . psi(x, y)``, with one w for all classes.

    Parameters
    ----------
    classes : sequence
        Classes; ties go to the first.
    joint : callable
        psi: ``joint(x, y)`` gives a vector, of the same length for every x and y.

    Examples
    --------
    Products are described by colour and size, buyers by their taste; the vector learns which tastes matter:

    >>> import numpy as np
    >>> import rankwise as rw
    >>> described = {"red small": [1, 0], "blue small": [-1, 0], "red large": [1, 1]}
    >>> model = rw.structured.SharedClasses(list(described), lambda x, y: np.asarray(x) * described[y])
    >>> learner = rw.StructuredPerceptron(model, random_state=0)
    >>> _ = learner.fit([[1.0, -1.0], [-1.0, -1.0]], ["red small", "blue small"], sample_weight=[1.0, 3.0])
    >>> learner.predict([[1.0, 1.0]])  # nobody has bought it yet
    ['red large']
    """

    def __init__(self, classes: Sequence[Any], joint: Callable[[Any, Any], Any]) -> None:
        super().__init__(classes, fit_intercept=False)
        self.joint = joint

    def parameters(self, x: Any) -> Floats:
        """One number for each joint feature."""
        return np.zeros(np.asarray(self.joint(x, self.classes[0])).size)

    def features(self, x: Any, y: Any) -> Floats:
        """psi(x, y)."""
        return np.asarray(self.joint(x, y), dtype=np.float64)


class MixedClasses(SharedClasses):
    """Mixed form: ``<w_y, x> + w . psi(x, y)``, a vector for each class in addition to the shared one.

    Parameters
    ----------
    classes, joint
        As in :class:`SharedClasses`.
    fit_intercept : bool, default True
        Append the constant 1 to every input of the classes' own vectors.

    Examples
    --------
    >>> from rankwise.structured import MixedClasses
    >>> MixedClasses("ab", lambda x, y: [x[0] * (y == "a")]).features([0.5], "b")
    array([0. , 0. , 0. , 0.5, 1. ])
    """

    def __init__(self, classes: Sequence[Any], joint: Callable[[Any, Any], Any], fit_intercept: bool = True) -> None:
        super().__init__(classes, joint)
        self.fit_intercept = fit_intercept

    def parameters(self, x: Any) -> Floats:
        """The shared vector, then one vector for each class."""
        return np.concatenate([super().parameters(x), np.zeros(len(self.classes) * self._input(x).size)])

    def features(self, x: Any, y: Any) -> Floats:
        """psi(x, y), then x in the block of the class."""
        chosen = np.zeros(len(self.classes))
        chosen[self._rank[y]] = 1.0
        return np.concatenate([super().features(x, y), np.outer(chosen, self._input(x)).ravel()])
