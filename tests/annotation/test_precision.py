"""alpha, beta and overlaps are counted by plain loops."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from rankwise.annotation import alpha_beta_intervals, overlap, precision
from rankwise.labels import UnknownOrderError
from tests.strategies import annotated


@given(annotated())
def test_precision_is_counted_over_the_labelled_rows(rows):
    labelled = [admitted for admitted in rows.codes if len(admitted) < len(rows.classes)]
    assume(labelled)
    widths = [admitted[-1] - admitted[0] for admitted in labelled]
    for found in (precision(rows.y, rows.classes), precision(rows.encoded())):
        assert found.n_rows == len(labelled)
        assert found.n_exact == widths.count(0)
        assert found.alpha == pytest.approx(widths.count(0) / len(widths))
        assert found.beta == max(widths)
        assert found.mean_width == pytest.approx(np.mean(widths))
        assert found.mean_width <= (1 - found.alpha) * found.beta + 1e-12


def test_a_single_class_is_known_exactly():
    assert precision([5, 5, 5]).alpha == 1.0


@given(st.integers(1, 60), st.data(), st.floats(0.5, 0.99))
def test_limit_of_alpha_is_where_the_sample_becomes_unlikely(n, data, confidence):
    exact = data.draw(st.integers(0, n))
    found = precision([1] * exact + [(1, 2)] * (n - exact), classes=[1, 2, 3])
    limit = found.alpha_limit(confidence)
    assert limit <= found.alpha
    if exact:
        assert binom.sf(exact - 1, n, limit) == pytest.approx(1 - confidence)
    else:
        assert limit == 0.0


def test_limit_of_what_was_not_seen_is_where_seeing_none_becomes_unlikely():
    found = precision([(1, 2)] * 40, classes=[1, 2, 3])
    assert (1 - found.wider_limit(0.9)) ** 40 == pytest.approx(0.1)


@given(annotated(), st.data())
def test_overlap_is_counted_row_by_row(rows, data):
    k, n = len(rows.classes), len(rows.y)
    truth = data.draw(st.lists(st.one_of(st.none(), st.integers(0, k - 1)), min_size=n, max_size=n))
    counts, n_rows, reach = np.zeros((k, k), dtype=int), np.zeros(k, dtype=int), []
    for admitted, y in zip(rows.codes, truth, strict=True):
        if y is not None and len(admitted) < k:
            counts[y, admitted] += 1
            n_rows[y] += 1
            reach.append(max(abs(z - y) for z in admitted))
    labels = [None if y is None else rows.classes[y] for y in truth]
    if not reach:
        with pytest.raises(ValueError, match=rf"both an annotation and an exact truth\. Got none of {n}"):
            overlap(rows.y, labels, rows.classes)
        return
    found = overlap(rows.y, labels, rows.classes)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.n_rows, n_rows)
    np.testing.assert_array_equal(np.isnan(found.rates[:, 0]), n_rows == 0)
    assert found.mean_reach == pytest.approx(np.mean(reach))
    assert found.consistency == pytest.approx(np.trace(counts) / n_rows.sum())


def test_overlap_finds_the_classes_of_both():
    found = overlap([(2, 3), (2, 2)], [4, 2])
    assert found.classes.tolist() == [2, 3, 4]
    assert found.consistency == 0.5
    assert found.mean_reach == 1.0  # from 4 to 2, from 2 to 2


def test_alpha_and_beta_of_a_process_are_found_again():
    n, alpha, beta = 4000, 0.3, 3
    y = np.arange(n) % 8
    found = precision(alpha_beta_intervals(y, alpha, beta, random_state=0), range(8))
    assert found.alpha == pytest.approx(alpha, abs=5 * np.sqrt(0.21 / n))
    assert found.beta == beta
    assert found.mean_width == pytest.approx((1 - found.alpha) * beta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: precision([None, None], classes=[1, 2]), r"at least one label\. Got 2 rows, none of them labelled"),
        (lambda: precision([1], [1, 2]).alpha_limit(0.0), r"confidence must lie between 0 and 1\. Got 0\.0"),
        (lambda: precision([1], [1, 2]).wider_limit(1.0), r"confidence must lie between 0 and 1\. Got 1\.0"),
        (lambda: overlap([1, 2], [1]), r"same number of rows\. Got 2 and 1"),
        (lambda: overlap([1, 2], [1, 3], classes=[1, 2]), r"row 1: the label 3 is not one of the classes \[1, 2\]"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("call", [precision, lambda y, **k: alpha_beta_intervals(y, 0.5, 1, **k)])
def test_words_of_unknown_order_are_refused(call):
    words = ["red", "amber", "green", "red"]
    with pytest.raises(UnknownOrderError, match=r"needs the order of the classes.*classes="):
        call(words)
    call(words, classes=["green", "amber", "red"])
