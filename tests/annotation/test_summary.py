from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given

from rankwise.annotation import Summary, summary
from tests.strategies import annotated


@given(annotated())
def test_summary_counts_kinds_and_widths(rows):
    n_classes = len(rows.classes)
    kinds = {"n_exact": 0, "n_interval": 0, "n_candidates": 0, "n_missing": 0}
    widths = [0] * n_classes
    for admitted in rows.codes:
        width = admitted[-1] - admitted[0]
        widths[width] += 1
        if width == 0:
            kinds["n_exact"] += 1
        elif len(admitted) <= width:
            kinds["n_candidates"] += 1
        elif len(admitted) == n_classes:
            kinds["n_missing"] += 1
        else:
            kinds["n_interval"] += 1
    expected = Summary(**kinds, widths=tuple(widths))
    assert summary(rows.y, rows.classes) == expected
    assert summary(rows.encoded()) == expected
    assert expected.n_rows == len(rows.y) == sum(kinds.values())
    assert expected.mean_width == pytest.approx(np.mean([a[-1] - a[0] for a in rows.codes]))


def test_summary_of_the_ends():
    assert summary([5, 5]) == Summary(n_exact=2, n_interval=0, n_candidates=0, n_missing=0, widths=(2,))
    empty = summary([], classes=[1, 2])
    assert empty.n_rows == 0
    assert np.isnan(empty.mean_width)
    with pytest.raises(FrozenInstanceError):
        empty.n_exact = 3
