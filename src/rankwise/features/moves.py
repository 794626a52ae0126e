"""How the features of rows move when a raw column does: along a slope for a number, between levels for a category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._types import Floats, Places
from rankwise.features.arrow_columns import load_pyarrow
from rankwise.features.contributions import feature_shares
from rankwise.features.encoded_columns import CategoryColumn, NumberColumn
from rankwise.features.table import TableEncoder

_SMALL = 1e-4  # of a number, in deviations, to either side


@dataclass(frozen=True, eq=False)
class Owned:
    """Features of an encoder by the raw columns that they come from.

    Attributes
    ----------
    raw : list of str
        The raw columns.
    names : list of str
        Names of the features.
    columns : list of tuple of str
        The raw column of each; two for a product.
    references : dict of str to str
        The level of each category that has no feature, as a name of the same form as those of the others.
    """

    raw: list[str]
    names: list[str]
    columns: list[tuple[str, ...]]
    references: dict[str, str]

    @classmethod
    def of(cls, encoder: TableEncoder) -> Owned:
        """Features of a fitted encoder; a hashed place stands for itself."""
        names = [str(name) for name in encoder.get_feature_names_out()]
        raw = [str(name) for name in encoder.feature_names_in_]
        owners = [tuple(dict.fromkeys(raw[j] for j in pair)) for pair in feature_shares(encoder).tolist()]
        owners += [(name,) for name in names[len(owners) :]]
        references = {
            c.name: f"{c.name}={c.reference}"
            for c in encoder._encoding.others
            if isinstance(c, CategoryColumn) and c.reference is not None
        }
        return cls(raw, names, owners, references)

    def places(self, column: str, *, alone: bool = False) -> Places:
        """Features that a raw column has a part in; ``alone``: those that come from it only."""
        return np.array([j for j, own in enumerate(self.columns) if column in own and not (alone and len(own) > 1)])


def curves(encoder: TableEncoder) -> dict[str, Places]:
    """Features that make a curve together: the splines of each number, and the products of numbers."""
    owned = Owned.of(encoder)
    bent = [c.name for c in encoder._encoding.numbers if c.knots]
    found = {name: owned.places(name, alone=True) for name in bent}
    found["products"] = np.array([j for j, own in enumerate(owned.columns) if len(own) > 1], dtype=np.intp)
    return {name: places for name, places in found.items() if places.size}


@dataclass(frozen=True, eq=False)
class Slope:
    """A number that moves: the features at ``places`` change by ``slopes`` (n, m) for one unit of the raw column.

    ``told`` are the rows with a value.
    """

    name: str
    told: NDArray[np.bool_]
    places: Places
    slopes: Floats

    reference = ""


@dataclass(frozen=True, eq=False)
class Step:
    """A column that goes to a level, ``name``, from another one: the features of all rows (n, d) there and here."""

    name: str
    reference: str
    told: NDArray[np.bool_]
    before: Floats
    after: Floats


def moves(encoder: TableEncoder, X: Any) -> Iterator[Slope | Step]:
    """All moves of numbers, booleans and categories; dates, texts and hashed categories have none."""
    table, encoding, owned = encoder._table(X), encoder._encoding, Owned.of(encoder)
    pyarrow, rows = load_pyarrow(), _dense(encoder.transform(X))

    def at(name: str, values: Floats) -> Floats:
        place = table.column_names.index(name)
        return _dense(encoder.transform(table.set_column(place, name, pyarrow.array(values, from_pandas=True))))

    for c in encoding.columns:
        places = owned.places(c.name)
        if isinstance(c, NumberColumn) and c.kind != "date":
            values, _ = c.read(table.column(c.name))
            told = ~np.isnan(values)
            if c.kind == "boolean":
                no, yes = (np.where(told, side, np.nan) for side in (0.0, 1.0))
                yield Step(f"{c.name}=true", f"{c.name}=false", told, at(c.name, no), at(c.name, yes))
                continue
            step = _SMALL * (float(np.nanstd(values)) or 1.0)
            ends = [at(c.name, values + sign * step)[:, places] for sign in (1, -1)]
            yield Slope(c.name, told, places, (ends[0] - ends[1]) / (2.0 * step))
        elif isinstance(c, CategoryColumn) and c.categories and not c.codes:
            alone = owned.places(c.name, alone=True)
            levels = {owned.names[j]: int(j) for j in alone}
            reference = owned.references.get(c.name, owned.names[alone[0]])
            before = rows.copy()
            before[:, alone] = 0.0
            if reference in levels:
                before[:, levels.pop(reference)] = 1.0
            for name, j in levels.items():
                after = rows.copy()
                after[:, alone] = 0.0
                after[:, j] = 1.0
                yield Step(name, reference, np.ones(len(rows), dtype=bool), before, after)


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64)
