"""Whether averaged or last weights predict better, decided during a stream: ``average="auto"``.

The mean of the weights over all rounds never forgets. It is the better model if rows come in a random order; the last
weights are better under drift or if neighbouring rows are alike. So both predict some rows before learning from them,
and the differences of their errors decide. With ``d = c (error of the mean - error of the last weights)`` in a round
that is judged, c its weight, and a window of W of them,

    lead = (1 - 1/W) lead + d,   spread = (1 - 1/W) spread + d^2,

and the last weights predict when ``lead > sqrt(spread)``: when they lead by more than the standard error. The error is
the distance to the nearest end of the label, in ranks, or whether the label admits the prediction if classes have no
order. The first rounds are all judged, later ones one in eight, which costs little and detects a change within a few
hundred rounds.

A pass gets either a bool, and is compiled without the contest, or a pair of a mode (:data:`LAST`, :data:`MEAN`,
:data:`JUDGED`) and the array ``(lead, spread)``.
"""

from numba import types

from rankwise._kernels.compile import inlined, overload, register_jitable
from rankwise.base.state import StateArray

#: Standing of the contest, for every model that has averages.
CONTEST = StateArray((2,), mixes="follows")
LEAD, SPREAD = 0, 1
#: Which weights predict: the last ones, their mean, or the better ones.
LAST, MEAN, JUDGED = 0, 1, 2

_WINDOW = 100
_LARGEST_WEIGHT = 1e30  # its square, and errors of any number of classes, stay finite
_FIRST, _EVERY = 1000, 8


@register_jitable(forceinline=True)
def last_leads(lead, spread):
    """Whether the last weights lead by more than the standard error."""
    return lead > 0.0 and lead * lead > spread


@inlined
def _error(code, lo, hi, mask, i, ordered):
    admitted = lo <= code <= hi and (mask.size == 0 or mask[i, code])
    distance = max(1.0, max(float(lo - code), float(code - hi))) if ordered else 1.0
    return 0.0 if admitted else distance


@register_jitable(forceinline=True)
def _is_due(mode, rounds):
    return mode == JUDGED and rounds > 0.0 and (rounds < _FIRST or int(rounds) & (_EVERY - 1) == 0)


@inlined
def _judged(last, mean, lo, hi, mask, i, ordered, c, lead, spread):
    if c == 0.0 or last < 0 or mean < 0:
        return lead, spread
    d = min(c, _LARGEST_WEIGHT) * (_error(mean, lo, hi, mask, i, ordered) - _error(last, lo, hi, mask, i, ordered))
    return lead - lead / _WINDOW + d, spread - spread / _WINDOW + d * d


def _is_pair(average):
    return isinstance(average, tuple | types.BaseTuple)


def mode_of(average):
    """Which weights predict."""
    return average[0] if _is_pair(average) else int(average)


@overload(mode_of, inline="always")
def _overload_mode_of(average):
    return (lambda average: average[0]) if _is_pair(average) else (lambda average: int(average))


def standing(average):
    """Lead and spread so far."""
    return (average[1][LEAD], average[1][SPREAD]) if _is_pair(average) else (0.0, 0.0)


@overload(standing, inline="always")
def _overload_standing(average):
    if _is_pair(average):
        return lambda average: (average[1][LEAD], average[1][SPREAD])
    return lambda average: (0.0, 0.0)


@register_jitable(forceinline=True)
def averages(average, lead, spread):
    """Whether averaged weights predict."""
    mode = mode_of(average)
    return mode == MEAN or (mode == JUDGED and not last_leads(lead, spread))


def is_due(average, rounds):
    """Whether the round is judged."""
    return _is_pair(average) and _is_due(average[0], rounds)


@overload(is_due, inline="always")
def _overload_is_due(average, rounds):
    if _is_pair(average):
        return lambda average, rounds: _is_due(average[0], rounds)
    return lambda average, rounds: False


def judged(average, last, mean, lo, hi, mask, i, ordered, c, lead, spread):
    """Lead and spread after the predictions of the last and of averaged weights for a label.

    There are many arguments because a tuple that holds the mask would count references to it: ~30 ns a judged round.
    """
    return _judged(last, mean, lo, hi, mask, i, ordered, c, lead, spread) if _is_pair(average) else (lead, spread)


@overload(judged, inline="always")
def _overload_judged(average, last, mean, lo, hi, mask, i, ordered, c, lead, spread):
    if _is_pair(average):
        return lambda average, last, mean, lo, hi, mask, i, ordered, c, lead, spread: _judged(
            last, mean, lo, hi, mask, i, ordered, c, lead, spread
        )
    return lambda average, last, mean, lo, hi, mask, i, ordered, c, lead, spread: (lead, spread)


def settle(average, lead, spread):
    """Write the standing back."""
    if _is_pair(average):
        average[1][LEAD], average[1][SPREAD] = lead, spread


@overload(settle, inline="always")
def _overload_settle(average, lead, spread):
    if not _is_pair(average):
        return lambda average, lead, spread: None

    def write(average, lead, spread):
        average[1][LEAD] = lead
        average[1][SPREAD] = spread

    return write
