"""The command ``explain``: contributions of columns to the predictions of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Model, RowOptions, Seed, grouped
from rankwise.cli._outputs import NEW_PICTURE, save_picture
from rankwise.cli._print import print_facts, print_json

if TYPE_CHECKING:
    from rankwise.explanations import Explanation

_MOST_CHANGES = 3
_BACKGROUND = 10_000  # rows of the files that a row is compared with


@grouped
def explain(
    model: Model,
    files: Files,
    *,
    row: Annotated[
        int | None, typer.Option(min=1, help="Explain this row, counted from 1; by default all rows together.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Most columns to show.")] = 10,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it: a file .png, .svg or .pdf."), NEW_PICTURE
    ] = None,
    seed: Seed = 0,
    rows: RowOptions,
    json: AsJSON = False,
) -> None:
    """Show what each column contributes to the predictions of a model.

    rankwise explain model.rankwise new.csv --row 17 --plot reasons.png

    Contributions are compared with the mean of the first 10,000 rows of the files. Labels need not be there.
    """
    with plain_errors():
        from rankwise.cli._model_files import first_rows, open_with_model
        from rankwise.explanations import explain as explained

        ready, source = open_with_model(model, files, rows)
        with source.quarantine:
            background, one = first_rows(source, _BACKGROUND, row)
            background = source.encodable(background, ready.encoder_)
            source.require_rows(len(background))
        if one is not None:
            with one.named():
                predicted = ready.predict(one.X).tolist()[0]
        with background.named():
            explanation = explained(ready, (one or background).X, background=background.X, random_state=seed)
        if one is None:
            facts = _of_all(explanation, top)
        else:
            facts = {"row": row, "prediction": predicted, **_of_row(explanation, top)}
        if plot is not None:
            save_picture(explanation.plot(None if one is None else 0, top=top).figure, plot)
    if json:
        print_json(facts)
    else:
        print_facts(_in_words(facts))
    source.quarantine.judge(len(background))


def _of_row(explanation: Explanation, top: int) -> dict[str, Any]:
    strongest = explanation._strongest(0, top)
    reached = explanation.at_least(0)
    return {
        explanation.score_name: float(explanation.scores[0]),
        "base": explanation.base,
        "method": explanation.method,
        "contributions": {explanation.columns[j]: float(explanation.values[0, j]) for j in strongest},
        "reasons": explanation.sentences(0, top),
        "probability": None if reached is None else {f"at least {reached[0]}": float(reached[1][0, 1])},
        "changes": [str(change) for change in explanation.changes(0)[:_MOST_CHANGES]],
    }


def _of_all(explanation: Explanation, top: int) -> dict[str, Any]:
    sizes = dict(zip(explanation.columns, explanation.importances().tolist(), strict=True))
    largest = sorted(sizes, key=lambda name: -sizes[name])[:top]
    return {
        "rows": len(explanation),
        "method": explanation.method,
        "importances": {name: sizes[name] for name in largest},
    }


def _in_words(facts: dict[str, Any]) -> dict[str, str]:
    if "importances" in facts:
        rows = f"{facts['rows']:,}; mean size of the contribution of each column:"
        return {"rows": rows, **{f"  {name}": f"{size:.4g}" for name, size in facts["importances"].items()}}
    name = next(key for key in ("score", "expected rank", "rank") if key in facts)
    words = {"row": str(facts["row"]), "prediction": str(facts["prediction"])}
    words[name] = f"{facts[name]:.4g}, of which {facts['base']:.4g} without any column"
    lines = "\n" + " " * (2 + max(map(len, words)))  # below each other, behind the names of the facts
    for heading, texts in (("because", facts["reasons"]), ("what if", facts["changes"])):
        if texts:
            words[heading] = lines.join(texts)
    return words
