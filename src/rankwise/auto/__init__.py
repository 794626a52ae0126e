"""Model selection for tables: regularisation by cross-validation, models by a search, blends of several models.

The package can be called: ``rankwise.auto(frame, labels)`` is ``AutoOrdinal().fit(frame, labels)``.
"""

import sys
from types import ModuleType
from typing import Any

from rankwise.auto.auto_ordinal import AutoOrdinal
from rankwise.auto.blended import BlendedOrdinal
from rankwise.auto.path_cv import PathCV

__all__ = ["AutoOrdinal", "BlendedOrdinal", "PathCV"]


class _Callable(ModuleType):
    def __call__(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> AutoOrdinal:
        """Choose a model for a table and fit it; see :class:`AutoOrdinal` for the parameters."""
        return AutoOrdinal(**parameters).fit(X, y, sample_weight)


sys.modules[__name__].__class__ = _Callable
