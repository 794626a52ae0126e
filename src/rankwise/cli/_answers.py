"""What ``rankwise predict`` adds to the prediction: scores, and what a model knows that has probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._exit import suggestion
from rankwise.cli._options import option
from rankwise.cli._outputs import COSTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_PANEL = "Probabilities"


_SCORES = "Add the scores behind the predictions: a column 'score', or 'score CLASS' for each class."
_PROBA = "Add the probability of every class: columns 'P(CLASS)'."
_INTERVAL = "Add the central interval with this probability: columns 'prediction_lower' and 'prediction_upper'."
_DECISION = (
    "Predict the class of least expected cost: a table with a row for every true class and a column for every answer; "
    "its first column and its header name them."
)


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """Columns of scores, probabilities and intervals, and the decision."""

    scores: Annotated[bool, typer.Option("--scores", help=_SCORES)] = False
    proba: Annotated[bool, typer.Option("--proba", help=_PROBA, rich_help_panel=_PANEL)] = False
    interval: Annotated[float | None, option(_INTERVAL, _PANEL, "LEVEL")] = None
    decision: Annotated[Path | None, option(_DECISION, _PANEL, "CSV"), COSTS] = None

    def __post_init__(self) -> None:
        if self.interval is not None and not 0.0 < self.interval < 1.0:
            raise typer.BadParameter(f"--interval must be between 0 and 1, both excluded. Got {self.interval:g}.")

    def require(self, model: Any) -> None:
        """Refuse a model without probabilities, and one whose classes have other costs; set the decision."""
        for wanted in ("proba", "interval", "decision"):
            if getattr(self, wanted) not in (None, False) and not hasattr(model, "predict_proba"):
                from rankwise.labels import estimators_with

                able = ", ".join(estimators_with("predict_proba"))
                name = type(model.estimator_).__name__
                raise typer.BadParameter(f"--{wanted} needs a model with probabilities. {name} has none: fit {able}.")
        if self.decision is not None:
            model.estimator_.decision = read_costs(self.decision, model.classes_)

    def types(self, model: Any) -> dict[str, Any]:
        """Names of the columns that are added, and the type of their values."""
        import pyarrow as pa

        classes, names = model.classes_.tolist(), []
        if self.scores:
            one = hasattr(model, "project") or len(classes) == 2
            names += ["score"] if one else [f"score {name}" for name in classes]
        if self.proba:
            names += [f"P({name})" for name in classes]
        ends = ["prediction_lower", "prediction_upper"] if self.interval is not None else []
        return {**dict.fromkeys(names, pa.float64()), **dict.fromkeys(ends, pa.array(model.classes_).type)}

    def columns(self, model: Any, X: Any) -> Iterator[NDArray[Any]]:
        if self.scores:
            found = model.project(X) if hasattr(model, "project") else model.decision_function(X)
            yield from found.reshape(X.shape[0], -1).T
        if self.proba:
            yield from model.predict_proba(X).T
        if self.interval is not None:
            yield from model.predict_interval(X, self.interval).T


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
