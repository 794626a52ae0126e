"""The command ``simulate``: simulated annotation of rows whose labels are known."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Files, Seed, grouped
from rankwise.cli._print import print_json, progress_bars
from rankwise.cli._training_options import TrainingOptions

_WHICH = "Estimator to fit: one with class probabilities that takes intervals, with parameters if needed."
#: Ways to ask: strategy and kinds of question.
WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "random": ("random", ("exact",)),
    "uncertainty": ("uncertainty", ("exact",)),
    "ranges": ("random", ("range",)),
    "uncertainty, ranges": ("uncertainty", ("range",)),
    "information": ("information", ("exact", "range", "at_least")),
}


@grouped
def simulate(
    files: Files,
    *,
    training: TrainingOptions,
    estimator: Annotated[str, typer.Option(metavar="NAME[:PARAM=VALUE,...]", help=_WHICH)] = "CumulativeLink",
    minutes: Annotated[float, typer.Option(min=1.0, help="Minutes of annotation.")] = 60.0,
    width: Annotated[int, typer.Option(min=0, help="Ranks between the ends of a range.")] = 1,
    bias: Annotated[float, typer.Option(help="Ranks by which answers are too high.")] = 0.0,
    unsure: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of items of which a range is known.")] = 0.75,
    guesses: Annotated[bool, typer.Option("--guesses", help="Exact answers about these items are guesses.")] = False,
    seconds: Annotated[float, typer.Option(min=0.001, help="Seconds of an exact answer.")] = 10.0,
    range_factor: Annotated[float, typer.Option(min=0.001, help="Time of a range, in exact answers.")] = 0.6,
    yes_no_factor: Annotated[float, typer.Option(min=0.001, help="Time of 'at least k?', in exact answers.")] = 0.4,
    control: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of items drawn evenly.")] = 0.1,
    repeats: Annotated[int, typer.Option(min=1, help="Random splits into items and test rows.")] = 5,
    seed: Seed = 0,
    json: AsJSON = False,
) -> None:
    """Simulate the annotation of labelled rows: which items and questions lower the error fastest.

    rankwise simulate ratings.csv --label stars --classes 1..5 --minutes 45 --width 1 --seconds 8

    Half of the rows are items that a simulated rater annotates, the others test the model. Five ways to ask are
    compared at equal cost: random items, items that the model is unsure of, ranges where the rater is unsure, both, and
    the question that gains most for each second.
    """
    learner = _estimators.make_contestant(estimator, streams=False)
    if not hasattr(learner, "predict_proba"):
        raise typer.BadParameter(f"--estimator needs class probabilities, and {type(learner).__name__} has none.")
    with plain_errors():
        import numpy as np

        from rankwise.annotation import plan_budget
        from rankwise.evaluation import SimulatedRater, simulate_annotation
        from rankwise.evaluation.annotation_simulation import mean_curve

        source = training.open(files)
        encoder = training.encoding.encoder_for(source)
        with source.quarantine, progress_bars() as show:
            loaded = source.load(encoder)
            loaded = loaded.take(np.flatnonzero(loaded.y.is_exact))
            source.require_rows(len(loaded))
            X = loaded.X if isinstance(encoder, str) else encoder.fit(loaded.X).transform(loaded.X)
            times = {"exact": seconds, "range": range_factor * seconds, "at_least": yes_no_factor * seconds}
            rater = SimulatedRater(width, bias, unsure, guesses, times)
            repeated: dict[str, list[Any]] = {way: [] for way in WAYS}
            for repeat in range(repeats):
                order = np.random.RandomState([seed, repeat]).permutation(len(loaded))
                items, test = np.array_split(order, 2)
                for way, (strategy, kinds) in WAYS.items():
                    curve = simulate_annotation(
                        learner, X[items], loaded.y.take(items), X[test], loaded.y.take(test), rater=rater,
                        strategy=strategy, kinds=kinds, minutes=minutes, control=control, classes=source.order,
                        random_state=seed + repeat,
                    )  # fmt: skip
                    repeated[way].append(curve)
                show("simulation", repeat + 1, repeats)
        curves = {way: mean_curve(each) for way, each in repeated.items()}
        plans = plan_budget(minutes, curves=curves)
    if json:
        listed = [{"way": p.kind, "minutes": p.minutes, "labels": p.n_labels, "mae": p.error} for p in plans]
        print_json({"minutes": minutes, "rows": len(loaded), "skipped": source.quarantine.count, "ways": listed})
    else:
        _print_table(curves, plans, minutes)
    source.quarantine.judge(len(loaded))


def _print_table(curves: dict[str, Any], plans: list[Any], minutes: float) -> None:
    from rankwise.evaluation import format_table

    times = [minutes * share for share in (0.25, 0.5, 1.0)]
    lines = []
    for plan in plans:
        errors = {f"MAE after {t:g} min": f"{curves[plan.kind].error_at(t):.4f}" for t in times}
        lines.append({"way to ask": plan.kind, **errors, "labels": f"{plan.n_labels:,}"})
    typer.echo(format_table(lines))
    typer.echo(f"\nbest for {minutes:g} minutes: {plans[0].kind}")
