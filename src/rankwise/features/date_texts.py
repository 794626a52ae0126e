"""Dates written as texts: in ISO 8601, or with the year last, where the whole column tells days from months."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise._words import either
from rankwise.features.arrow_columns import NEARLY_ALL, coded_texts, is_text, known_texts, load_pyarrow

_ISO = r"^\s*\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s?(Z|[+-]\d{2}(:?\d{2})?)?)?\s*$"
_MAYBE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}(\D|$)"  # worth a closer look
_TIME = r"(?:(?:T|,? +)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(?: ?([AaPp])\.?[Mm]\.?)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}")
_SHORT_YEAR = re.compile(r"(\d{2})([-.])(\d{2})\2(\d{2})(?:\D.*)?|(\d{1,2})/(\d{1,2})/(\d{2})(?:\D.*)?")

#: Examples for each order in which the parts of a date may follow each other.
ORDERS = {"ymd": "2024-05-31 or 2024-05-31T12:30", "dmy": "31.05.2024 or 31.05.2024 12:30", "mdy": "05/31/2024"}
#: Notes on the orders that may surprise.
ORDER_NOTES = {"dmy": "with the day first", "mdy": "with the month first"}


def seconds_of(text: str, order: str = "ymd") -> float:
    """Seconds since 1970 of a local time, whatever its zone; NaN if the text is no date with this order."""
    text = text.strip()
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        pass
    found = (_YEAR_FIRST if order == "ymd" else _YEAR_LAST).fullmatch(text)
    if found is None:
        return np.nan
    first, _, second, third, hour, minute, second_of, half = found.groups()
    year, month, day = {
        "ymd": (first, second, third), "dmy": (third, second, first), "mdy": (third, first, second)
    }[order]  # fmt: skip
    hours = int(hour or 0)
    if half is not None:
        if not 1 <= hours <= 12:
            return np.nan
        hours = hours % 12 + 12 * (half in "Pp")
    try:
        moment = datetime(int(year), int(month), int(day), hours, int(minute or 0), int(second_of or 0), tzinfo=UTC)
    except ValueError:
        return np.nan
    return moment.timestamp()


def date_order(name: str, column: Any) -> str | None:
    """How the parts of dates follow each other in a column, a key of :data:`ORDERS`; None if it holds no dates.

    Texts are dates if nearly all that are not blank are. Where the year comes last, the day comes first if points are
    between; otherwise a part above 12, which must be a day, tells. A column that does not tell, or contradicts itself,
    is an error, and so are years of two digits.
    """
    if not is_text(column.type):
        return "ymd"
    compute, texts = load_pyarrow().compute, known_texts(column)
    enough = max(1.0, NEARLY_ALL * len(texts))

    def matching(pattern: str) -> int:
        return int(compute.sum(compute.match_substring_regex(texts, pattern)).as_py() or 0)

    if matching(_ISO) >= enough:
        return "ymd"
    if matching(_MAYBE) < enough:
        return None
    distinct, codes = coded_texts(texts)
    counts = np.bincount(codes, minlength=len(distinct))
    if counts[_are_dates(distinct, "ymd")].sum() >= enough:
        return "ymd"
    day_first, month_first = _are_dates(distinct, "dmy"), _are_dates(distinct, "mdy")
    if counts[day_first | month_first].sum() >= enough:
        return _told(name, distinct, day_first, month_first)
    short = np.array([_has_short_year(text) for text in distinct])
    if counts[short].sum() >= enough:
        example = distinct[int(np.argmax(short))]
        raise ValueError(
            f"column {name!r} holds texts such as {example!r}, which look like dates with years of two digits: write "
            f"the years in full, such as 2024-05-31, or declare the kind of the column as 'category' ("
            f"{_declared(name, 'category')})."
        )
    return None


def _are_dates(texts: list[str], order: str) -> NDArray[np.bool_]:
    return ~np.isnan(np.array([seconds_of(text, order) for text in texts], dtype=np.float64))


def _told(name: str, texts: list[str], day_first: NDArray[np.bool_], month_first: NDArray[np.bool_]) -> str:
    """Order of dates with the year last, all of which can be read in one order or the other."""
    only_day, only_month = (
        next((text for text, fits in zip(texts, these & ~others, strict=True) if fits), None)
        for these, others in ((day_first, month_first), (month_first, day_first))
    )
    if only_day is not None and only_month is not None:
        raise ValueError(
            f"column {name!r} holds dates with the day first, such as {only_day!r}, and with the month first, such as "
            f"{only_month!r}: write all of them alike, best as 2024-05-31."
        )
    if only_month is not None:
        return "mdy"
    if only_day is not None or all("." in text.partition(" ")[0] for text in texts):
        return "dmy"
    readings = [
        (text, {str(np.datetime64(int(seconds_of(text, order)), "s"))[:10]: None for order in ("dmy", "mdy")})
        for text, is_either in zip(texts, day_first & month_first, strict=True)
        if is_either
    ]
    example, days = next((each for each in readings if len(each[1]) == 2), readings[0])  # 02/02/2025 is one day
    which = f"which may be {' or '.join(days)}" if len(days) == 2 else "where day and month are equal"
    raise ValueError(
        f"column {name!r} holds dates such as {example!r}, {which}, and none that tells which comes first: "
        f"declare its kind as 'date-dmy' or 'date-mdy' ({_declared(name, 'date-dmy')}), or write the dates as "
        f"2024-05-31."
    )


def _has_short_year(text: str) -> bool:
    found = _SHORT_YEAR.fullmatch(text)
    if found is None:
        return False
    first, second = int(found[1] or found[5]), int(found[3] or found[6])
    return 1 <= min(first, second) <= 12 and max(first, second) <= 31


def _declared(name: str, kind: str) -> str:
    return either(f"kinds={{{name!r}: {kind!r}}}", f"--kind {name}={kind}")


def text_moments(column: Any, order: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Seconds since 1970 of dates written as texts, NaN for others, and which of these are not blank."""
    texts, codes = coded_texts(column)
    known = np.array([*(seconds_of(text, order) for text in texts), np.nan])
    blank = np.array([not text.strip() for text in texts] + [True])
    return known[codes], (np.isnan(known) & ~blank)[codes]
