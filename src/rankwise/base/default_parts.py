"""Nested parameters such as ``estimator__alpha`` of a part that is None, which stands for a default part."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Self

from sklearn.base import BaseEstimator


class DefaultParts(BaseEstimator):
    """Base of estimators with parameters that may be None for a default estimator or transformer.

    Reading the nested parameters of such a part shows those of the default; setting one puts the default in its place
    first. The constructor's parameters stay as they were given until then.
    """

    def _defaults(self) -> dict[str, Callable[[], Any]]:
        """How to make the default of each part that may be None, in the order in which they depend on each other."""
        raise NotImplementedError  # each model has its own

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, and those of the parts if ``deep``: of the default part where one is None."""
        params: dict[str, Any] = super().get_params(deep)
        for part, default in self._defaults().items() if deep else ():
            if params[part] is None:
                params |= {f"{part}__{name}": value for name, value in default().get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of parts (``estimator__alpha``); a part that is None becomes its default first."""
        nested: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        absent = {part for part in self._defaults() if params.get(part, getattr(self, part)) is None}
        for name in list(params):
            part, within, inner = name.partition("__")
            if within and part in absent:
                nested[part][inner] = params.pop(name)
        super().set_params(**params)
        for part, default in self._defaults().items():
            if part in nested:
                setattr(self, part, default().set_params(**nested[part]))
        return self
