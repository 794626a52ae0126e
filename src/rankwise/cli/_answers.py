"""What ``rankwise predict`` adds to the prediction of a model that knows probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._exit import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_PANEL = "Probabilities"


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """Columns of probabilities and intervals, and the decision."""

    proba: Annotated[
        bool,
        typer.Option("--proba", help="Add the probability of every class: columns 'P(CLASS)'.", rich_help_panel=_PANEL),
    ] = False
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add the central interval with this probability: columns 'prediction_lower' and 'prediction_upper'.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    decision: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Predict the class of least expected cost: a table with a row for every true class and a column for "
            "every answer; its first column and its header name them.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None

    def check(self) -> None:
        """Refuse a level that is none, before any file is read."""
        if self.interval is not None and not 0.0 < self.interval < 1.0:
            raise typer.BadParameter(f"--interval must be between 0 and 1, both excluded. Got {self.interval:g}.")

    def require(self, model: Any) -> None:
        """Refuse a model without probabilities, and one whose classes have other costs; set the decision."""
        for option in ("proba", "interval", "decision"):
            if getattr(self, option) not in (None, False) and not hasattr(model, "predict_proba"):
                from rankwise.labels import estimators_with

                able = ", ".join(estimators_with("predict_proba"))
                name = type(model.estimator_).__name__
                raise typer.BadParameter(f"--{option} needs a model with probabilities. {name} has none: fit {able}.")
        if self.decision is not None:
            model.estimator_.decision = read_costs(self.decision, model.classes_)

    def names(self, classes: NDArray[Any]) -> list[str]:
        """Names of the columns that are added."""
        chances = [f"P({name})" for name in classes.tolist()] if self.proba else []
        return [*chances, *(["prediction_lower", "prediction_upper"] if self.interval is not None else [])]

    def columns(self, model: Any, X: Any) -> Iterator[NDArray[Any]]:
        """The columns themselves."""
        import numpy as np

        n_rows = X.shape[0]
        if self.proba:
            yield from (model.predict_proba(X) if n_rows else np.empty((0, len(model.classes_)))).T
        if self.interval is not None:
            yield from (
                model.predict_interval(X, self.interval) if n_rows else np.empty((0, 2), model.classes_.dtype)
            ).T


def read_costs(path: Path, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Cost matrix from a CSV file whose header and first column are the classes, in the order of the model's."""
    import csv

    import numpy as np

    from rankwise.decisions import check_cost

    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file) if line]
    names = [str(name) for name in classes.tolist()]
    header, first = lines[0][1:] if lines else [], [line[0].strip() for line in lines[1:]]
    for what, found in (("header", [name.strip() for name in header]), ("first column", first)):
        if sorted(found) != sorted(names):
            other = next((name for name in found if name not in names), None)
            hint = f" {suggestion(other, names)}" if other is not None else ""
            raise ValueError(
                f"file {path}: its {what} must name the classes {', '.join(names)}. Got {', '.join(found)}.{hint}"
            )
    try:
        table = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]])
    except ValueError as error:
        raise ValueError(f"file {path}: a cost must be a number: {error}.") from None
    columns = [name.strip() for name in header]
    in_order = table[np.ix_([first.index(name) for name in names], [columns.index(name) for name in names])]
    try:
        return check_cost(in_order, len(names))
    except ValueError as error:
        raise ValueError(f"file {path}: {error}") from None
