"""The command ``compare``: several estimators on the same rows, in one table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._encoding import (
    CategoriesOption,
    Indicate,
    Kind,
    MissingOption,
    ScalingOption,
    UnknownOption,
    encoder_options,
    make_encoder,
    parse_kinds,
    text_kinds,
)
from rankwise.cli._errors import plain_errors, require_writable
from rankwise.cli._options import (
    AsJSON,
    Classes,
    FileFormat,
    Files,
    Folds,
    Ignore,
    Label,
    Lower,
    Method,
    OnError,
    QuarantineFile,
    Seed,
    Upper,
    Weight,
    WhenBad,
    parse_classes,
)
from rankwise.cli._print import print_json, progress_bars


def compare(
    files: Files,
    estimator: Annotated[
        list[str],
        typer.Option(
            metavar="NAME[:PARAM=VALUE,...]",
            help="An estimator, with parameters if it is not to have the usual ones; repeat it for each.",
            autocompletion=_estimators.complete,
            show_default=False,
        ),
    ],
    label: Label = None,
    lower: Lower = None,
    upper: Upper = None,
    weight: Weight = None,
    classes: Classes = None,
    ignore: Ignore = None,
    method: Annotated[
        Method,
        typer.Option(
            help="cv: in folds. holdout: one fold is held out. progressive: each row is predicted, then learnt, by "
            "online estimators only, in constant memory."
        ),
    ] = Method.cv,
    folds: Folds = 5,
    seed: Seed = 0,
    kind: Kind = None,
    scaling: ScalingOption = None,
    missing: MissingOption = None,
    indicate_missing: Indicate = False,
    categories: CategoriesOption = None,
    unknown: UnknownOption = None,
    format: FileFormat = None,
    on_error: WhenBad = OnError.stop,
    quarantine: QuarantineFile = None,
    json: AsJSON = False,
) -> None:
    """Judge several estimators on the same rows: one table, best first, with standard errors.

    rankwise compare ratings.csv --label stars --estimator PRIL --estimator SVOR --estimator SVOR:alpha=0.01

    In folds and with a held-out fold all rows are in memory, and online estimators make their usual shuffled epochs.
    """
    if quarantine is not None:
        require_writable(quarantine, "--quarantine")
    declared = parse_classes(classes)
    streams = method is Method.progressive
    templates = {text: _estimators.make_contestant(text, streams=streams) for text in estimator}
    for text, template in templates.items():
        if streams and not _estimators.is_online(type(template).__name__):
            raise typer.BadParameter(f"--method progressive is for online estimators, and {text} is none.")
        if "random_state" in template.get_params() and template.random_state is None:
            template.set_params(random_state=seed)
    kinds = parse_kinds(kind)
    encoding = encoder_options(scaling, missing, indicate_missing, categories, unknown)
    with plain_errors():
        from rankwise.cli._judge import judge_in_folds, judge_progressively
        from rankwise.cli._rows import open_source
        from rankwise.table_model import TableModel

        source = open_source(
            files,
            format=format,
            label=label,
            lower=lower,
            upper=upper,
            weight=weight,
            ignore=ignore,
            texts=text_kinds(kinds),
            on_error=on_error,
            quarantine=quarantine,
        )
        encoder = make_encoder(source, kinds, encoding)
        order = source.order(declared)
        source.quarantine.open()
        results: list[dict[str, Any]] = []
        try:
            rows = None if streams else source.load(order, None if isinstance(encoder, str) else encoder)
            with progress_bars() as show:
                for text, template in templates.items():
                    model = TableModel(template.set_params(classes=order.values.tolist()), encoder)
                    if rows is None:
                        found = judge_progressively(model, source, order)
                        source.quarantine.silence()  # the next one meets the same bad rows
                    else:
                        only_first = method is Method.holdout
                        found = judge_in_folds(
                            model, rows, order, folds, seed, only_first=only_first, show=show, what=text
                        )
                    results.append({"estimator": text, **found})
        finally:
            source.quarantine.close()
    results.sort(key=lambda found: found.get("mae", float("inf")))
    if json:
        print_json({"method": method.value, "skipped": source.quarantine.count, "results": results})
    else:
        _print_table(results, method, source.quarantine.count)


def _print_table(results: list[dict[str, Any]], method: Method, skipped: int) -> None:
    from rankwise.evaluation import format_table

    lines = []
    for found in results:
        line: dict[str, Any] = {"estimator": found["estimator"]}
        for name, title in (("mae", "MAE"), ("zero_one", "wrong"), ("within_one", "within one")):
            line[title] = f"{found[name]:.4f} ± {found[f'{name}_se']:.4f}" if name in found else "-"
        if any(f["exact_labels"] < f["rows"] for f in results):
            line["MAE at worst"] = f"{found['mae_at_worst']:.4f}" if "mae_at_worst" in found else "-"
        if "fit_seconds" in found:
            line["seconds to fit"] = f"{found['fit_seconds']:.3g}"
        lines.append(line)
    typer.echo(format_table(lines))
    how = {
        Method.cv: f"mean over {results[0].get('folds')} folds ± standard error",
        Method.holdout: "on one fold held out ± standard error over its rows",
        Method.progressive: "of predictions made before each row was learnt ± standard error over rows",
    }[method]
    rows = f"{results[0]['rows']:,} rows" + (f", {skipped:,} skipped" if skipped else "")
    typer.echo(f"\n{how}; {rows}")
