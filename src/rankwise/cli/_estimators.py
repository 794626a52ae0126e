"""Estimators by name, and their parameters from texts such as ``C=0.1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from rankwise._registry import ESTIMATORS
from rankwise.cli._exit import suggestion

ONLINE, BATCH, TREES = "rankwise.online", "rankwise.batch", "rankwise.trees"

#: Parameters that do nothing where rows come in the order of the files.
_NOT_ON_A_STREAM = {"n_epochs": "--epochs", "shuffle": "the order of the rows in the files"}

_WORDS = {"true": True, "false": False, "none": None}


def names() -> list[str]:
    """Estimators that learn ordered classes from a table, without loading them."""
    return sorted(name for name, entry in ESTIMATORS.items() if entry.home in (ONLINE, BATCH, TREES))


def is_online(name: str) -> bool:
    """Whether an estimator learns row by row."""
    return ESTIMATORS[name].home == ONLINE


def grows_trees(name: str) -> bool:
    """Whether an estimator takes raw columns."""
    return ESTIMATORS[name].home == TREES


#: For the help.
LISTED = (
    f"Online estimators read files of any size: {', '.join(filter(is_online, names()))}. "
    f"Batch estimators hold all rows in memory: {', '.join(name for name in names() if not is_online(name))}."
)


def complete(incomplete: str) -> list[str]:
    """Names with this beginning, for completion in the shell."""
    return [name for name in names() if name.lower().startswith(incomplete.lower())]


def parse_assignments(assignments: Sequence[str] | None) -> dict[str, Any]:
    """``["C=0.1", "step=pa1"]`` as a dict of values."""
    values: dict[str, Any] = {}
    for assignment in assignments or ():
        name, equals, text = assignment.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"a parameter is given as name=value. Got {assignment!r}.")
        values[name.strip()] = parse_value(text.strip())
    return values


def parse_value(text: str) -> Any:
    """A number, true, false, none, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def make(name: str, parameters: Mapping[str, Any], *, streams: bool = True) -> Any:
    """Estimator with parameters; unknown names and invalid values are wrong usage.

    With ``streams``, online estimators refuse parameters that do nothing where rows come in the order of the files.
    """
    if name not in names():
        raise typer.BadParameter(f"there is no estimator {name!r}. {suggestion(name, names())}")
    estimator = ESTIMATORS[name].load(name)()
    useless = _NOT_ON_A_STREAM if streams and is_online(name) else {}
    known = [p for p in estimator.get_params() if p != "classes" and p not in useless]
    for parameter in parameters:
        if parameter == "classes":
            raise typer.BadParameter("give --classes instead of the parameter 'classes'.")
        if parameter in useless:
            raise typer.BadParameter(f"{parameter!r} does nothing on a stream: {useless[parameter]} counts.")
        if parameter not in known:
            hint = suggestion(parameter, known)
            listed = "" if hint.startswith("Known") else f" Known: {', '.join(known)}."
            raise typer.BadParameter(f"{name} has no parameter {parameter!r}. {hint}{listed}")
    estimator.set_params(**parameters)
    validate(estimator)
    return estimator


def validate(estimator: Any) -> None:
    """Raise scikit-learn's errors about parameters as wrong usage, without names of Python's types."""
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        message = str(error).replace("a float in", "a number in").replace("an int in", "a whole number in")
        raise typer.BadParameter(message.replace("a str among", "one of")) from None


def make_contestant(text: str, *, streams: bool) -> Any:
    """Estimator from ``PRIL:step=pa1,C=0.1``."""
    name, _, parameters = text.partition(":")
    return make(name, parse_assignments([text for text in parameters.split(",") if text]), streams=streams)
