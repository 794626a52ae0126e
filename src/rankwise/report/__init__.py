"""One self-contained page about a fitted model: ``rankwise.report(model, X, y, "page.html")``.

The room is called what its function is called, so the module itself can be called too: ``rankwise.report(...)`` and
``rankwise.report.report(...)`` are the same, whichever was imported first.
"""

import sys
from types import ModuleType
from typing import Any

from rankwise.report._report import Report, report

__all__ = ["Report", "report"]


class _CallableModule(ModuleType):
    __call__ = staticmethod(report)

    def __dir__(self) -> list[str]:
        return __all__


def _become_callable(module: Any) -> None:
    module.__class__ = _CallableModule


_become_callable(sys.modules[__name__])
