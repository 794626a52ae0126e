"""One self-contained page about a fitted model: ``rankwise.report.write(model, X, y, "page.html")``."""

from rankwise.report._document import Report, write

__all__ = ["Report", "write"]
