"""What each raw column of a table adds to a linear score of its features, exactly.

A linear model of encoded rows has the score ``sum_j w_j x_j`` over its features. Each comes from one raw column,
except a product, half of which counts for each of its two columns, and a hashed place where columns of a row collide:
they share it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.features._encoding import Encoding, refuse_problems
from rankwise.features._texts import TextColumn, grams
from rankwise.features.encoded_columns import NumberColumn
from rankwise.features.table import TableEncoder


def feature_shares(encoder: TableEncoder) -> NDArray[np.intp]:
    """The two raw columns of every feature that is not hashed, (n_features, 2); most features have one column twice."""
    place = {name: j for j, name in enumerate(encoder.feature_names_in_)}
    encoding = encoder._encoding
    owners = [(place[c.name],) * 2 for c in encoding.numbers for _ in range(c.width)]
    owners += [(place[a.name], place[b.name]) for a, b in encoding.products.pairs(encoding.numbers)]
    owners += [(place[c.name],) * 2 for c in encoding.others for _ in range(c.width)]
    owners += [(place[c.name],) * 2 for c in encoding.columns if c.indicated]
    return np.array(owners, dtype=np.intp).reshape(-1, 2)


def column_contributions(encoder: TableEncoder, X: Any, weights: Floats) -> Floats:
    """Part of ``features @ weights`` that comes from each raw column, (n, columns)."""
    table, encoding, rules = encoder._table(X), encoder._encoding, encoder._rules
    n, m = table.num_rows, encoding.n_dense
    refuse_problems(table, encoding.columns, rules)
    dense = np.empty((n, m))
    encoding.put_numbers(table, rules, dense)
    owners = feature_shares(encoder)[:m]
    contributions = np.zeros((n, encoder.n_features_in_))
    for side in (0, 1):
        shares = np.zeros((m, encoder.n_features_in_))
        shares[np.arange(m), owners[:, side]] = 0.5 * weights[:m]
        contributions += dense @ shares
    place = {name: j for j, name in enumerate(encoder.feature_names_in_)}
    entries = list(encoding.entries(table, rules))
    divisors = _shared_places(entries, encoding)
    for (c, (rows, places, values)), divisor in zip(entries, divisors, strict=True):
        contributions[:, place[c.name]] += np.bincount(rows, values * weights[m + places] / divisor, minlength=n)
    return contributions


def _shared_places(entries: list[Any], encoding: Encoding) -> list[Any]:
    """How many columns share the hashed place of every entry in its row; 1 for all other entries."""
    hashed = [k for k, (c, _) in enumerate(entries) if not isinstance(c, NumberColumn) and c.hashed]
    divisors: list[Any] = [1.0] * len(entries)
    if len(hashed) < 2:
        return divisors
    width = encoding.n_own + encoding.n_indicated + encoding.n_hashed
    keys = [entries[k][1][0] * width + entries[k][1][1] for k in hashed]
    _, inverse, counts = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    by_column = np.split(counts[inverse].astype(np.float64), np.cumsum([key.size for key in keys])[:-1])
    for k, divisor in zip(hashed, by_column, strict=True):
        divisors[k] = divisor
    return divisors


def word_contributions(encoder: TableEncoder, X: Any, weights: Floats) -> list[tuple[str, str, float]]:
    """Column, word and contribution of every word of one row, hashed ones too, the largest first."""
    table = encoder._table(X).slice(0, 1)
    start, contributions, encoding = 0, [], encoder._encoding
    hashed_start = encoding.n_own + encoding.n_indicated
    for c in encoding.others:
        if isinstance(c, TextColumn):
            column = table.column(c.name)
            _, places, values = c.entries(column, encoder._rules)
            of_place = dict(zip(places.tolist(), values.tolist(), strict=True))
            offset = encoding.n_dense + (hashed_start if c.hashed else start)
            by_place: dict[int, list[str]] = {}
            texts = [text for text in grams(column, encoder._rules.ngrams)[1] if text]
            for text, place in zip(texts, c.places(texts, encoder._rules), strict=True):
                by_place.setdefault(place, []).append(text)
            for place, value in of_place.items():
                words = " / ".join(by_place[place])
                contributions.append((c.name, words, float(value * weights[offset + place])))
        start += c.width
    return sorted(contributions, key=lambda entry: -abs(entry[2]))
