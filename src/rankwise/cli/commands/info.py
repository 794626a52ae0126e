"""The command ``info``: what a model file holds."""

from __future__ import annotations

from typing import Any

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Model
from rankwise.cli._print import certificate, print_facts, print_json, some


def info(model: Model, json: AsJSON = False) -> None:
    """Show what a model file holds: estimator, classes, columns, parameters, and where it comes from."""
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
    from rankwise.base.model import Model as Opened
    from rankwise.table_model import table_encoder

    opened = Opened.of(model)
    estimator, encoder = opened.final, opened.before
    learnt = estimator.to_plain() if opened.can("to_plain") else {}
    facts: dict[str, Any] = {"estimator": opened.name}
    if opened.can("classes_"):
        facts["classes"] = estimator.classes_.tolist()
    if encoder is not None:
        reads = table_encoder(encoder) or encoder
        kinds = getattr(reads, "kinds_", None) or dict.fromkeys(map(str, model.feature_names_in_), "column")
        facts["columns"] = {name: kind for name, kind in kinds.items() if kind != "ignore"}
        facts["encoder"] = {k: v for k, v in reads.get_params(deep=False).items() if k != "kinds"}
        if reads is not encoder:
            facts["encoder"]["then"] = [repr(step) for _, step in encoder.steps[1:]]
    facts["features"] = learnt.get("features", opened.learnt("n_features_in_"))
    facts["parameters"] = estimator.get_params(deep=False)
    learnt_facts = {"updates": "n_updates_", "objective": "objective_", "gap": "gap_", "thresholds": "thresholds_"}
    facts |= {name: opened.learnt(of) for name, of in learnt_facts.items() if opened.can(of)}
    arrays = learnt.get("state", {}) | {name: learnt.get(name) for name in ("weights", "offsets")}
    facts["arrays"] = {name: list(array.shape) for name, array in arrays.items() if hasattr(array, "shape")}
    if "learnt_rows" in notes:  # thousands of digests
        notes = {**notes, "learnt_rows": {k: v for k, v in notes["learnt_rows"].items() if k != "digests"}}
    return {**facts, "notes": notes} if notes else facts


def _in_words(facts: dict[str, Any]) -> dict[str, str]:
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
        # With missing labels the objective of a chain is not convex: the proof is about the last convex problem.
        whose = "the last convex problem's" if facts["estimator"] == "ChainClassifier" else "the"
        words["objective"] = certificate(facts["objective"], facts["gap"], whose)
    if "thresholds" in facts:
        words["thresholds"] = some([f"{t:.4g}" for t in facts["thresholds"]])
    words["arrays"] = ", ".join(f"{name} {tuple(shape)}" for name, shape in facts["arrays"].items())
    notes = facts.get("notes", {})
    if "files" in notes:
        digests = [f"{file['name']} (sha256 {file['sha256'][:12]}...)" for file in notes.get("learnt_from", [])]
        words["learnt from"] = f"{notes['rows']:,} rows of {some(digests or notes['files'], 3)}"
    elif "state" in notes:
        words["checkpoint"] = f"of a run that has learnt {notes['state']['learnt']:,} rows"
    words["size"] = f"{facts['size']:,} bytes"
    return words
