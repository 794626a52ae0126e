"""Raw columns as trees take them."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from rankwise.trees.tree_columns import RawColumns


def test_dates_durations_and_written_numbers():
    table = pa.table(
        {
            "day": [datetime.date(1970, 1, 3), None],
            "took": pa.array([86400, 43200], pa.duration("s")),
            "size": ["1,5", "2,25"],
            "good": [True, False],
            "colour": ["red", "blue"],
        }
    )
    columns = RawColumns.fitted(table, [])
    assert [column.kind for column in columns.columns] == ["date", "duration", "number", "number", "category"]
    expected = [[2.0, 1.0, 1.5, 1.0, 1.0], [np.nan, 0.5, 2.25, 0.0, 0.0]]
    np.testing.assert_allclose(columns.matrix(table), expected)
    with pytest.raises(ValueError, match="column 't' holds texts of several words"):
        RawColumns.fitted(pa.table({"t": ["a text of many words", "and yet another one"]}), [])
