"""The command ``compare``: several estimators on the same rows, in one table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Folds, Method, Seed, grouped
from rankwise.cli._print import print_json, progress_bars
from rankwise.cli._training_options import TrainingOptions

_DEFAULT = {False: ("SVOR:alpha=auto", "CumulativeLink:alpha=auto", "RoundedRegression:alpha=auto", "PRIL"),
            True: ("PRIL", "PRank", "CuSumRank")}  # fmt: skip
_WHICH = (
    f"An estimator, with parameters if it is not to have the usual ones; repeat it for each. By default "
    f"{', '.join(_DEFAULT[False])}; with --method progressive {', '.join(_DEFAULT[True])}. " + _estimators.LISTED
)
_METHOD = (
    "cv: in folds. holdout: one fold is held out. progressive: each row is predicted, then learnt, by online "
    "estimators only, in constant memory."
)


@grouped
def compare(
    files: Files,
    estimator: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:PARAM=VALUE,...]", help=_WHICH, autocompletion=_estimators.complete),
    ] = None,
    *,
    training: TrainingOptions,
    method: Annotated[Method, typer.Option(help=_METHOD)] = Method.cv,
    folds: Folds = 5,
    cv: Annotated[int | None, typer.Option("--cv", min=2, help="Short for --method cv --folds N.")] = None,
    seed: Seed = 0,
    json: AsJSON = False,
) -> None:
    """Compare several estimators on the same rows: one table, best first, with standard errors.

    rankwise compare ratings.csv --label stars --cv 10

    rankwise compare ratings.csv --label stars --estimator PRIL --estimator SVOR --estimator SVOR:alpha=0.01

    In folds and with a held-out fold all rows are in memory, and online estimators make their usual shuffled epochs.
    """
    if cv is not None:
        method, folds = Method.cv, cv
    streams = method is Method.progressive
    templates = {text: _template(text, seed, streams=streams) for text in estimator or _DEFAULT[streams]}
    with plain_errors():
        from rankwise.cli._judge import judge_in_folds, judge_progressively
        from rankwise.table_model import TableModel

        source = training.open(files)
        results: list[dict[str, Any]] = []
        encoder = training.encoding.encoder_for(source)
        with source.quarantine, progress_bars() as show:
            loaded = None if streams else source.load(encoder)
            for text, template in templates.items():
                own = training.encoding.encoder_for(source, type(template).__name__)
                model = TableModel(template.set_params(classes=source.order.values.tolist()), own)
                if loaded is None:
                    judged = judge_progressively(model, source)
                    source.quarantine.silence()  # the next estimator meets the same bad rows
                else:
                    first = method is Method.holdout
                    judged = judge_in_folds(model, loaded, folds, seed, only_first=first, show=show, what=text)
                results.append({"estimator": text, **judged})
    results.sort(key=lambda result: result.get("mae", float("inf")))
    if json:
        print_json({"method": method.value, "skipped": source.quarantine.count, "results": results})
    else:
        _print_table(results, method, source.quarantine.count)
    source.quarantine.judge(max(result.get("rows", 0) for result in results))


def _template(text: str, seed: int, *, streams: bool) -> Any:
    """Estimator that a text such as ``PRIL:C=0.1`` describes."""
    template = _estimators.make_contestant(text, streams=streams)
    if streams and not _estimators.is_online(type(template).__name__):
        raise typer.BadParameter(f"--method progressive needs an online estimator; {text} is a batch estimator.")
    if "random_state" in template.get_params() and template.random_state is None:
        template.set_params(random_state=seed)
    return template


def _print_table(results: list[dict[str, Any]], method: Method, skipped: int) -> None:
    from rankwise.evaluation import format_table

    lines = []
    for result in results:
        line: dict[str, Any] = {"estimator": result["estimator"]}
        for name, title in (("mae", "MAE"), ("zero_one", "wrong"), ("within_one", "within one")):
            line[title] = f"{result[name]:.4f} ± {result[f'{name}_se']:.4f}" if name in result else "-"
        if any(f["exact_labels"] < f["rows"] for f in results):
            line["MAE at worst"] = f"{result['mae_at_worst']:.4f}" if "mae_at_worst" in result else "-"
        if "fit_seconds" in result:
            line["seconds to fit"] = f"{result['fit_seconds']:.3g}"
        lines.append(line)
    typer.echo(format_table(lines))
    how = {
        Method.cv: f"mean over {results[0].get('folds')} folds ± standard error",
        Method.holdout: "on one fold held out ± standard error over its rows",
        Method.progressive: "of predictions made before each row was learnt ± standard error over rows",
    }[method]
    rows = f"{results[0]['rows']:,} rows" + (f", {skipped:,} skipped" if skipped else "")
    typer.echo(f"\n{how}; {rows}")
