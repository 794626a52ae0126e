"""Texts as words: a weighted vocabulary learnt in ``fit``, or hashed places for streams, which bring new words.

Words are runs of letters, digits and underscores in lower case; an n-gram is n words that follow each other, with a
space between. With tf-idf a word that a row holds c times and n_k of the n rows of ``fit`` hold has the weight
``c (ln((1 + n) / (1 + n_k)) + 1)``, and the weights of a row are then divided by their Euclidean norm, as in
scikit-learn's ``TfidfVectorizer``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._errors import RowError
from rankwise.features.arrow_columns import coded_texts, hashed_place, load_pyarrow, one_chunk
from rankwise.features.encoding_rules import Entries, Rules, refuse_missing

_NOT_A_WORD = r"[^\pL\pN_]+"


@dataclass(frozen=True)
class TextColumn:
    """A text: weights of the words of a vocabulary, or ones at the hashed places of all words."""

    name: str
    kind: str = "text"
    indicated: bool = False
    weighting: str = "hash"
    words: list[str] = field(default_factory=list)
    idf: list[float] = field(default_factory=list)  #: of each word, with tf-idf

    @property
    def hashed(self) -> bool:
        """Whether it has no vocabulary."""
        return self.weighting == "hash"

    @property
    def width(self) -> int:
        """Number of columns, apart from the hashed ones."""
        return len(self.words)

    def names(self) -> list[str]:
        """Names of these columns."""
        return [f"{self.name}: {word}" for word in self.words]

    def places(self, texts: Sequence[str], rules: Rules) -> list[int]:
        """Place of each word; -1 if it has none."""
        if self.hashed:
            return [hashed_place(self.name, text, rules.n_hashed) for text in texts]
        known = {word: place for place, word in enumerate(self.words)}
        return [known.get(text, -1) for text in texts]

    def entries(self, column: Any, rules: Rules) -> Entries:
        """Rows, places and weights of the words; each place once in a row."""
        rows, texts, codes = grams(column, rules.ngrams)
        places = np.array([*self.places(texts, rules), -1])[codes]
        counted = np.flatnonzero(places >= 0)
        rows, places, counts = counted_pairs(rows[counted], places[counted], rules.n_hashed + self.width)
        if self.weighting in ("hash", "binary"):
            return rows, places, np.ones(rows.size)
        if self.weighting == "counts":
            return rows, places, counts
        weights = counts * np.asarray(self.idf)[places]
        norms = np.sqrt(np.bincount(rows, weights**2, minlength=len(column)))
        return rows, places, weights / norms[rows]

    def problems(self, column: Any, rules: Rules) -> Iterator[RowError]:
        if rules.missing == "refuse":
            yield from refuse_missing(self.name, column.is_null().to_numpy(zero_copy_only=False))


def fit_text(name: str, column: Any, rules: Rules) -> TextColumn:
    """Vocabulary of a column: the words of at least two rows, the most frequent first if there are too many."""
    indicated = rules.indicate_missing and column.null_count > 0
    weighting = ("hash" if rules.stream else "tfidf") if rules.texts == "auto" else rules.texts
    if weighting == "hash":
        return TextColumn(name, indicated=indicated)
    rows, texts, codes = grams(column, rules.ngrams)
    _, words, _ = counted_pairs(rows, codes, len(texts) + 1)
    n_rows = np.bincount(words, minlength=len(texts))
    least = 2 if n_rows.max(initial=0) > 1 else 1
    kept = np.flatnonzero(n_rows >= least)
    kept = kept[np.argsort(-n_rows[kept], kind="stable")][: rules.max_words]
    kept = np.array(sorted(kept.tolist(), key=texts.__getitem__), dtype=np.int64)
    idf = np.log((1 + len(column)) / (1 + n_rows[kept])) + 1 if weighting == "tfidf" else np.empty(0)
    return TextColumn(name, "text", indicated, weighting, [texts[k] for k in kept], idf.tolist())


def grams(column: Any, longest: int) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
    """Row of every run of up to ``longest`` words, the distinct texts of the runs, and the text of each by number."""
    pa = load_pyarrow()
    words = _words(pa, column)
    rows = pa.compute.list_parent_indices(words).to_numpy(zero_copy_only=False).astype(np.int64)
    texts, codes = coded_texts(pa.compute.list_flatten(words))
    blank = np.array([not text for text in texts] + [True])
    kept = np.flatnonzero(~blank[codes])
    rows, singles = rows[kept], codes[kept].astype(np.int64)
    all_rows, all_texts, all_codes = [rows], list(texts), [singles]
    grown, names = singles, texts
    for n in range(2, longest + 1):
        whole = rows[: len(rows) - n + 1] == rows[n - 1 :]  # else it would run on into the next row
        pairs = grown[: whole.size] * len(texts) + singles[n - 1 :]
        distinct, grown = np.unique(pairs, return_inverse=True)
        names = [f"{names[pair // len(texts)]} {texts[pair % len(texts)]}" for pair in distinct.tolist()]
        all_rows.append(rows[: whole.size][whole])
        all_codes.append(grown[whole] + len(all_texts))
        all_texts += names
    return np.concatenate(all_rows), all_texts, np.concatenate(all_codes)


def counted_pairs(rows: NDArray[np.int64], places: NDArray[np.int64], width: int) -> Entries:
    """Distinct pairs of a row and a place, in order, and how often each occurs."""
    pairs, counts = np.unique(rows * max(width, 1) + places, return_counts=True)
    return pairs // max(width, 1), pairs % max(width, 1), counts.astype(np.float64)


def mean_words(column: Any) -> float:
    """Mean number of words of the values that are not missing."""
    pa = load_pyarrow()
    words = pa.compute.list_flatten(_words(pa, column))
    n_words = len(words) - (pa.compute.sum(pa.compute.equal(words, "")).as_py() or 0)
    return float(n_words / max(1, len(column) - column.null_count))


def _words(pa: Any, column: Any) -> Any:
    """List of the words of every row, empty texts among them."""
    texts = one_chunk(column).cast(pa.large_string()).fill_null("")
    return pa.compute.split_pattern_regex(pa.compute.utf8_lower(texts), _NOT_A_WORD)
