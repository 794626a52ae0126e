"""The command ``info``: what a model file holds."""

from __future__ import annotations

from typing import Any

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Model
from rankwise.cli._print import certificate, print_facts, print_json, some


def info(model: Model, json: AsJSON = False) -> None:
    """Say what a model file holds: estimator, classes, columns, parameters, and where it comes from."""
    with plain_errors():
        from rankwise.persistence import load, read_notes

        loaded = load(model)
        facts = describe(loaded, read_notes(model))
        facts["size"] = model.stat().st_size
    if json:
        print_json(facts)
    else:
        print_facts(_in_words(facts))


def describe(model: Any, notes: dict[str, Any]) -> dict[str, Any]:
    """Facts about a model, as plain values."""
    from rankwise.table_model import TableModel

    estimator = model.estimator_ if isinstance(model, TableModel) else model
    encoder = model.encoder_ if isinstance(model, TableModel) else None
    learnt = estimator.to_plain() if hasattr(estimator, "to_plain") else {}
    features = learnt.get("features", getattr(estimator, "n_features_in_", None))
    facts: dict[str, Any] = {"estimator": type(estimator).__name__}
    if hasattr(estimator, "classes_"):
        facts["classes"] = estimator.classes_.tolist()
    if encoder is not None:
        facts["columns"] = {name: kind for name, kind in encoder.kinds_.items() if kind != "ignore"}
        facts["encoder"] = {k: v for k, v in encoder.get_params(deep=False).items() if k != "kinds"}
    facts["features"] = features
    facts["parameters"] = estimator.get_params(deep=False)
    if hasattr(estimator, "n_updates_"):
        facts["updates"] = estimator.n_updates_
    if hasattr(estimator, "gap_"):
        facts["objective"], facts["gap"] = estimator.objective_, estimator.gap_
    if hasattr(estimator, "thresholds_"):
        facts["thresholds"] = estimator.thresholds_.tolist()
    facts["arrays"] = {name: list(array.shape) for name, array in _arrays(learnt).items()}
    if notes:
        facts["notes"] = notes
    return facts


def _arrays(learnt: dict[str, Any]) -> dict[str, Any]:
    arrays = dict(learnt.get("state", {}))
    return arrays | {name: learnt[name] for name in ("weights", "offsets") if hasattr(learnt.get(name), "shape")}


def _in_words(facts: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    words = {"estimator": facts["estimator"]}
    if "classes" in facts:
        words["classes"] = f"{len(facts['classes'])}: {some(facts['classes'])}"
    if "columns" in facts:
        columns = [name if kind == "number" else f"{name} ({kind})" for name, kind in facts["columns"].items()]
        words["columns"] = f"{len(columns)}: {some(columns)}"
        words["encoder"] = ", ".join(f"{name}={value!r}" for name, value in facts["encoder"].items())
    features = facts["features"]
    words["features"] = f"{len(features)}: {some(features)}" if isinstance(features, list) else str(features)
    words["parameters"] = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    if "updates" in facts:
        words["updates"] = f"{facts['updates']:,}"
    if "gap" in facts:
        # With missing labels a chain's objective is not convex: what is proven is proven of the last convex problem.
        whose = "the last convex problem's" if facts["estimator"] == "ChainClassifier" else "the"
        words["objective"] = certificate(facts["objective"], facts["gap"], whose)
    if "thresholds" in facts:
        words["thresholds"] = some([f"{t:.4g}" for t in facts["thresholds"]])
    words["arrays"] = ", ".join(f"{name} {tuple(shape)}" for name, shape in facts["arrays"].items())
    notes = facts.get("notes", {})
    if "files" in notes:
        words["learnt from"] = f"{notes['rows']:,} rows of {some(notes['files'], 3)}"
    elif "state" in notes:
        words["checkpoint"] = f"of a run that has learnt {notes['state']['learnt']:,} rows"
    words["size"] = f"{facts['size']:,} bytes"
    return words
