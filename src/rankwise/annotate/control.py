"""The error of the model, from control answers: its range, its curve, and what more minutes are worth.

A control answer may be a range. The model's prediction is then off by at least the ranks to the nearest class of the
range, and at most by those to the farthest. The error that is shown lies between these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.annotation import ErrorMonitor, Estimate

AHEAD = 10.0  # minutes whose worth is shown
_ENOUGH = 10  # control answers before anything is advised


@dataclass(frozen=True)
class ControlAnswer:
    """A control answer: minutes and labels when it came, and ranks to the nearest and to the farthest class."""

    minutes: float
    labels: int
    nearest: float
    farthest: float


def error_facts(answers: Sequence[ControlAnswer], stop_at: float) -> dict[str, Any]:
    """Error by the control answers, as plain values; stop when ten more minutes are worth less than ``stop_at``."""
    facts: dict[str, Any] = {"controls": len(answers), "enough": _ENOUGH, "ahead": AHEAD, "stop_at": stop_at}
    if not answers:
        return {**facts, "curve": [], "stop": False}
    monitors = ErrorMonitor(), ErrorMonitor()
    for answer in answers:
        for monitor, error in zip(monitors, (answer.nearest, answer.farthest), strict=True):
            monitor.add(max(answer.minutes, 1e-3), error)
    curves = [monitor.curve() for monitor in monitors]
    minutes = curves[0][0]
    labels = np.interp(minutes, [a.minutes for a in answers], [a.labels for a in answers])
    points = [minutes, np.rint(labels), (curves[0][1] + curves[1][1]) / 2, curves[0][2], curves[1][3]]
    facts["curve"] = [[_number(v) for v in point] for point in np.array(points).T.tolist()]
    facts["error"] = _between(*(monitor.error() for monitor in monitors))
    facts["worth"] = _between(*(monitor.worth(AHEAD) for monitor in monitors))
    stop = len(answers) >= _ENOUGH and facts["worth"][0] < stop_at
    return {**facts, "stop": stop}


def _between(low: Estimate, high: Estimate) -> list[float | None]:
    ends = min(low.lower, high.lower), max(low.upper, high.upper)
    return [_number(v) for v in ((low.value + high.value) / 2, *ends)]


def _number(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None
