"""Names of hashed places: the words and categories that the first rows had most often stay known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.features._arrow import coded_texts, hashed_place
from rankwise.features._columns import CategoryColumn, Column, NumberColumn
from rankwise.features._rules import Rules
from rankwise.features._texts import grams

_MOST = 2000  # words whose names are kept


def kept_names(table: Any, columns: Sequence[Column], rules: Rules) -> dict[int, str]:
    """Place -> name of the most frequent hashed words and categories; a place has the name of the most frequent."""
    counts: Counter[tuple[int, str]] = Counter()
    for c in columns:
        if isinstance(c, NumberColumn) or not c.hashed:
            continue
        is_category = isinstance(c, CategoryColumn)
        column = table.column(c.name)
        texts, codes = coded_texts(column) if is_category else grams(column, rules.ngrams)[1:]
        n_each = np.bincount(codes[codes >= 0], minlength=len(texts))
        for k in np.argsort(-n_each, kind="stable")[:_MOST].tolist():
            if n_each[k] and texts[k]:
                name = f"{c.name}={texts[k]}" if is_category else f"{c.name}: {texts[k]}"
                counts[hashed_place(c.name, texts[k], rules.n_hashed), name] = int(n_each[k])
    kept: dict[int, str] = {}
    for (place, name), _ in counts.most_common(_MOST):
        kept.setdefault(place, name)
    return dict(sorted(kept.items()))


def named_places(kept: Mapping[int, str], n_hashed: int) -> list[str]:
    return [kept.get(place, f"hashed {place}") for place in range(n_hashed)]
