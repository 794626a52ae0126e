"""Bad labels: one line that names the row, the rule and what was found; never another kind of exception."""

import pickle
import re
import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from rankwise import RowError
from rankwise.labels import (
    ClassOrder,
    OrderWarning,
    Preferences,
    check_weights,
    encode,
    encode_multilabel,
    encode_rankings,
    format_labels,
    parse_labels,
)
from tests.labels.test_encode import assert_valid
from tests.strategies import times

NAN, INF = float("nan"), float("inf")
K3 = [1, 2, 3]

ROWS = {
    "lower above upper, int": (
        np.array([[1, 2], [3, 1]]),
        K3,
        r"row 1: the lower end .* above its upper end\. Got \[3, 1\]",
    ),
    "lower above upper, float": (np.array([[NAN, 2], [3, 1]]), K3, r"row 1: .*above.*Got \[3\.0, 1\.0\]"),
    "lower above upper, gaps": (np.array([[1, 9], [9, 1]]), [1, 4, 9], r"row 1: .*above.*classes \[1, 4, 9\]"),
    "lower above upper, tuples": ([(1, 2), (3, 2)], K3, r"row 1: .*above.*Got \[3, 2\]"),
    "lower above upper, names": ([("b", "a")], ["a", "b"], r"row 0: .*above.*Got \['b', 'a'\]"),
    "lower above upper, mixed": ([1, {1, 3}, (3, 2)], K3, r"row 2: .*above.*Got \[3, 2\]"),
    "lower above upper, frame": (pd.DataFrame([[1, 2], [2, 1]]), K3, r"row 1: .*above.*Got \[2, 1\]"),
    "lower above upper, no classes": ([(1, 2), (2, 1)], None, r"row 1: .*above"),
    "unknown int": (np.array([1, 2, 7]), K3, r"row 2: the label 7 is not one of the classes \[1, 2, 3\]\."),
    "unknown float": ([1.0, 2.5], K3, r"row 1: the label 2\.5 is not one of the classes"),
    "unknown infinity": (np.array([1.0, INF]), K3, r"row 1: the label inf is not one of"),
    "infinity without classes": (
        np.array([1.0, -INF]),
        None,
        r"row 1: the label -inf is not one of the classes \[1\.0\]",
    ),
    "unknown string": (["a", "z"], ["a", "b"], r"row 1: the label 'z' is not one of the classes \['a', 'b'\]"),
    "string for a number": (["9"], K3, r"row 0: the label '9' is not one of the classes \[1, 2, 3\]"),
    "number for a string": ([1], ["1", "2"], r"row 0: the label 1 is not one of the classes \['1', '2'\]"),
    "unknown category": (pd.Categorical(["a", "z"]), ["a", "b"], r"row 1: the label 'z'"),
    "unknown lower end": (np.array([[1, 2], [0, 2]]), K3, r"row 1: the lower end 0 is not one of the classes"),
    "unknown upper end": (np.array([[1, 2], [1, 9]]), K3, r"row 1: the upper end 9 is not one of the classes"),
    "unknown end, gaps": (
        np.array([[1, 5]]),
        [1, 4, 9],
        r"row 0: the upper end 5 is not one of the classes \[1, 4, 9\]",
    ),
    "unknown end, mixed": ([1, (1, 9)], K3, r"row 1: the upper end 9"),
    "unknown candidate": ([{1}, {1, 9}], K3, r"row 1: the label 9 is not one of the classes"),
    "unknown in a mixture": ([None, (1, 2), {1, 2}, 8], K3, r"row 3: the label 8 is not one of"),
    "unhashable label": ([1, {}], K3, r"row 1: the label {} is not one of the classes"),
    "list in a list": ([1, [1, [2]]], K3, r"row 1: a list inside y may be an interval or candidates.*Got \[1, \[2\]\]"),
    "tuple with a list": ([([], 2), 1], K3, r"row 0: the lower end \[\] is not one of"),
    "pandas interval in a list": ([pd.Interval(1, 2)], K3, r"row 0: the label Interval\(1, 2, closed='right'\)"),
    "empty list": ([{1}, []], K3, r"row 1: a list inside y"),
    "empty set": ([{1}, set()], None, r"row 1: a candidate set must not be empty"),
    "empty array": ([1, np.array([])], K3, r"row 1: a list inside y"),
    "empty mask row": (np.array([[True, False], [False, False]]), None, r"row 1: a candidate set must not be empty"),
    "empty polars list": (pl.Series([[1, 2], [], [3]]), None, r"row 1: a candidate set must not be empty"),
    "missing candidate": ([{1, 2}, {1, None}], K3, r"row 1: a candidate set must not hold missing values\. Got "),
    "missing candidate, NaN": ([{1, 2, 3}, {1, NAN, 3}], K3, r"row 1: a candidate set must not hold missing"),
    "one end": ([(1, 2), (1,)], K3, r"row 1: an interval is a tuple \(lower, upper\)\. Got \(1,\) instead"),
    "three ends": ([(1, 2, 3)], K3, r"row 0: an interval is a tuple \(lower, upper\)\. Got \(1, 2, 3\)"),
    "no ends": ([()], K3, r"row 0: an interval is a tuple"),
    "three ends in a mixture": ([1, (1, 2), (1, 2, 3)], K3, r"row 2: an interval is a tuple .*\(1, 2, 3\)"),
    "mask with a missing row": ([[True, False, True], None], K3, r"row 0: a list inside y .* boolean \(n, K\)"),
    "booleans as candidates": ([{True, False}, None], K3, r"row 0: booleans .*boolean array of shape \(n, 3\)"),
    "the same over 0, 1, 2": ([None, {True, False}], [0, 1, 2], r"row 1: booleans are no candidates for the classes"),
    "interval without a class": (
        pd.arrays.IntervalArray.from_tuples([(1, 2), (2, 3)], closed="neither"),
        [1.5, 3],
        r"row 1: an interval must hold at least one class\. Got \(2\.0, 3\.0\) of \[1\.5, 3\.0\]",
    ),
    "interval above all": (
        pd.arrays.IntervalArray.from_tuples([(INF, INF)], closed="both"),
        K3,
        r"row 0: an interval must hold",
    ),
}

WHOLES = {
    "mask too narrow": (
        np.ones((2, 2), dtype=bool),
        K3,
        r"one column per class: 3 for \[1, 2, 3\]\. Got shape \(2, 2\)",
    ),
    "mask too wide": (np.ones((2, 4), dtype=bool), K3, r"one column per class: 3 .*Got shape \(2, 4\)"),
    "integer mask": (
        np.array([[1, 0, 1]]),
        K3,
        r"boolean \(n, K\) candidate mask; bad input shape \(1, 3\) of type int64",
    ),
    "wide floats": (np.ones((5, 4)), None, r"bad input shape \(5, 4\) of type float64"),
    "3-D": (np.zeros((2, 2, 2)), None, r"bad input shape \(2, 2, 2\)"),
    "3-D booleans": (np.zeros((2, 2, 2), dtype=bool), None, r"bad input shape \(2, 2, 2\)"),
    "None": (None, K3, r"requires y to be passed, but the target y is None"),
    "int": (3, None, r"y should be a 1d array: a list or array of labels\. Got 3 instead"),
    "float": (NAN, None, r"y should be a 1d array.*Got nan"),
    "string": ("abc", None, r"y should be a 1d array.*Got 'abc'"),
    "bytes": (b"abc", None, r"y should be a 1d array.*Got b'abc'"),
    "0-D array": (np.array(3), None, r"y should be a 1d array.*bad input shape \(\)"),
    "numpy scalar": (np.float64(3), None, r"y should be a 1d array.*bad input shape \(\)"),
    "numpy string": (np.str_("abc"), None, r"y should be a 1d array"),
    "set": ({1, 2}, None, r"y should be a 1d array.*Got {1, 2}"),
    "dict": ({"a": 1}, None, r"y should be a 1d array.*Got {'a': 1}"),
    "complex array": (np.array([1j, 2]), None, r"Complex data not supported"),
    "complex array with classes": (np.array([1j, 2]), [1j, 2], r"Complex data not supported"),
    "complex numpy scalars": ([1e300, np.complex64(1j)], None, r"types \['complex64', 'float'\] have no common order"),
    "complex list": ([1j, 1j], None, r"types \['complex'\] have no common order"),
    "mixed types": ([1, "a"], None, r"row 1: a label is 'a' where most are numbers, and these have no common order"),
    "mixed interval": ([(1, "a")], None, r"\['int', 'str'\] have no common order"),
    "mixed candidates": ([{1, "a"}, 2], None, r"\['int', 'str'\] have no common order"),
    "objects": ([object(), object()], None, r"\['object'\] have no common order"),
    "dicts": ([{"a": 1}, {}], None, r"a label must be a number, a string or the like\. Got {'a': 1} instead"),
    "nested lists": ([[[1, 2], [3]]], None, r"row 0: a list inside y.*Got \[\[1, 2\], \[3\]\]"),
    "sparse": (csr_array(np.eye(3)), None, r"label"),
    "all None": ([None, None], None, r"every label is missing.*declare them with classes="),
    "all NaN": (np.array([NAN, NAN]), None, r"every label is missing"),
    "all NA": (pd.array([pd.NA], dtype="Int64"), None, r"every label is missing"),
    "all open": ([(None, INF), (-INF, NAN)], None, r"every label is missing"),
    "all masked": (np.ma.masked_all(3), None, r"every label is missing"),
    "all null": (pl.Series([None, None]), None, r"every label is missing"),
    "all null arrow": (pa.nulls(2), None, r"every label is missing"),
    "empty": ([], None, r"classes are unknown"),
    "continuous": (
        np.linspace(0.1, 1, 50),
        None,
        r"Unknown label type: continuous\. y holds 50 different.*50 labels: cut it",
    ),
    "continuous with NaN": ([0.1, 0.2, NAN], None, r"continuous"),
    "continuous intervals": (np.array([[0.1, 0.2], [0.3, 0.4]]), None, r"continuous"),
    "continuous column": (pd.Series([0.1, 0.2, 0.3]), None, r"continuous"),
}

CLASSES = {
    "empty": ([], r"classes must be a non-empty list of labels, lowest first\. Got "),
    "None inside": ([1, None], r"classes must not hold missing values\. Got \[1, None\]"),
    "NaN inside": ([1.0, NAN], r"classes must not hold missing values\. Got \[1\.0, nan\]"),
    "NA inside": (["a", pd.NA], r"classes must not hold missing values"),
    "infinite": ([1, INF], r"classes must be finite\. Got \[1\.0, inf\]"),
    "twice": ([1, 2, 1], r"classes must be distinct\. Got 1 more than once"),
    "twice, as another type": ([1, 2, 1.0], r"classes must be distinct\. Got 1\.0 more than once"),
    "twice, strings": (["a", "b", "a"], r"classes must be distinct\. Got 'a' more than once"),
    "labels as classes": (np.repeat(np.arange(50_000), 2)[::-1], r"classes must be distinct"),
    "string": ("abc", r"classes must be a list of labels, lowest first\. Got 'abc'"),
    "number": (3, r"classes must be a list of labels, lowest first\. Got 3 instead"),
    "set": ({"a", "b"}, r"classes must be a list of labels, lowest first\. Got {"),
    "pairs": ([(1, 2), (2, 3)], r"classes must be a list of labels"),
    "lists": ([[1], [2]], r"classes must be a list of labels"),
    "table": (np.eye(30), r"classes must be a list of labels, lowest first\. Got array\("),
    "frame": (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), r"classes must be a list of labels"),
    "dicts": ([{"a": 1}, {}], r"a label must be a number, a string or the like"),
}


def refusal(y, classes=None, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at by the caller
        encode(y, classes, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


@pytest.mark.parametrize(("y", "classes", "message"), ROWS.values(), ids=ROWS)
def test_a_bad_row_is_named(y, classes, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        found = refusal(y, classes)
    assert re.search(message, found), found
    assert re.match(r"row \d+: ", found)


@pytest.mark.parametrize(("y", "classes", "message"), WHOLES.values(), ids=WHOLES)
def test_what_is_no_column_of_labels_is_refused(y, classes, message):
    found = refusal(y, classes)
    assert re.search(message, found), found


@pytest.mark.parametrize(("classes", "message"), CLASSES.values(), ids=CLASSES)
def test_bad_classes(classes, message):
    found = refusal([1, 2], classes)
    assert re.search(message, found), found


@pytest.mark.parametrize("y", [[1, 2], [(1, 2), (2, 2)], [{1}, 2], np.ones((2, 2), dtype=bool), pd.Categorical([1, 2])])
def test_different_lengths(y):
    assert len(encode(y, [1, 2], n_rows=2)) == 2
    found = refusal(y, [1, 2], n_rows=3)
    assert "inconsistent numbers of samples: X has 3 rows, y has 2 labels" in found


def test_the_first_bad_row_is_named_among_many():
    y = np.ones(100_000, dtype=int)
    y[77_777:] = 5
    assert refusal(y, K3).startswith("row 77777: the label 5")
    ends = np.column_stack([y, y])
    assert refusal(ends, K3).startswith("row 77777: the lower end 5")


def test_messages_stay_short():
    many = refusal([-1], range(1000))
    assert many.endswith("the classes [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..., 999] (1000 classes).")
    assert refusal(["x" * 10_000], ["a\nb", "c" * 10_000]).startswith("row 0: the label 'xxx")
    assert refusal("x" * 10_000).startswith("y should be a 1d array")
    assert "Got array([[0., 0., " in refusal([np.zeros((40, 40))], K3)


def test_continuous_numbers_may_be_declared_and_repeated_ones_are_grades():
    values = [0.1, 0.2, 0.3]
    assert encode(values, values).lower.tolist() == [0, 1, 2]
    assert encode([0.5, 1.5] * 2).lower.tolist() == [0, 1, 0, 1]
    assert encode(np.linspace(0, 49, 50)).lower.tolist() == list(range(50))


def test_class_orders_are_checked_themselves():
    with pytest.raises(ValueError, match="non-empty list of labels"):
        ClassOrder(np.empty((2, 2)))
    with pytest.raises(TypeError, match="unhashable"):
        hash(ClassOrder(K3))


ODDITIES = [
    *(np.int8(-1), np.uint64(2**64 - 1), np.float16("nan"), np.float32(0.1), np.longdouble(1), np.complex64(1j)),
    *(np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.datetime64("NaT"), np.datetime64("2020-01-01", "ns")),
    *(np.timedelta64(1, "D"), pd.NA, pd.NaT, pd.Timestamp(0), pd.Interval(0, 1), Decimal("nan"), date.min, 10**400),
    *(np.ma.masked, ..., object(), int, range(3), iter(()), pd.Series([1, 2]), pl.Series([1, 2]), pa.scalar(1)),
    *(np.array(3), np.array([]), np.array([1, 2]), np.eye(2), np.array(["a", None]), np.ma.array([1, 2], mask=[0, 1])),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.dates(),
    st.decimals(allow_nan=False),
    st.sampled_from(ODDITIES),
)
HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=2) | st.binary(max_size=1),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.tuples(inner, inner),
        st.sets(HASHABLE, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=2),
    ),
    max_leaves=6,
)


def encoded_or_refused(y, classes=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        warnings.simplefilter("ignore", DataConversionWarning)
        try:
            return encode(y, classes)
        except (ValueError, TypeError) as error:
            return str(error)


def assert_valid_or_one_line(outcome, n=None):
    if isinstance(outcome, str):
        assert outcome
        assert "\n" not in outcome
    else:
        assert_valid(outcome, len(outcome) if n is None else n)


@settings(times(5), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(ANYTHING, max_size=6) | st.lists(SCALARS, max_size=6) | st.lists(HASHABLE, max_size=6),
    st.none() | st.just(K3) | st.lists(SCALARS, max_size=4) | ANYTHING,
)
def test_anything_at_all_is_encoded_or_refused_in_one_line(y, classes):
    assert_valid_or_one_line(encoded_or_refused(y, classes), len(y))


@times(2)
@given(ANYTHING)
def test_any_y_is_encoded_or_refused_in_one_line(y):
    assert_valid_or_one_line(encoded_or_refused(y))


@pytest.mark.parametrize("case", ROWS)
def test_errors_of_rows_carry_the_row_and_the_reason(case):
    y, classes, _ = ROWS[case]
    with pytest.raises(RowError) as caught:
        encode(y, classes)
    assert str(caught.value) == f"row {caught.value.row}: {caught.value.reason}"
    assert type(caught.value.row) is int


BAD_ROWS = {
    "parse": (lambda: parse_labels(["3", "row 0", "<2"], ["row 0", "3"]), 2, None),
    "parse without classes": (lambda: parse_labels(["3", "5-3"]), 1, None),
    "not text": (lambda: parse_labels(["3", []]), 1, None),
    "format": (lambda: format_labels([3, {1, "a|b"}]), 1, None),
    "weight": (lambda: check_weights([1.0, -1.0], 2), 1, None),
    "ranking": (lambda: encode_rankings([["row 0"], ["x"]], ["row 0"]), 1, None),
    "ranking of one label": (lambda: encode_rankings(["row 0", "x"], ["row 0"]), 1, None),
    "label listed twice": (lambda: encode_rankings([["a"], ["b", "b"]]), 1, None),
    "missing label in a list": (lambda: encode_rankings([["a"], ["b", None]]), 1, None),
    "indicator": (lambda: encode_rankings(np.array([[0, 1], [0, 2]])), 1, 1),
    "preference": (lambda: Preferences([[("a", "b")], [("a", "a")]]), 1, None),
    "no pair": (lambda: Preferences([[("a", "b")], [("a",)]]), 1, None),
    "no pairs": (lambda: Preferences([[("a", "b")], 3]), 1, None),
    "missing preference": (lambda: Preferences([[("a", None)]]), 0, None),
    "entry of a table": (lambda: encode_multilabel([[0, 1], [0, 5]], [0, 1]), 1, 1),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_every_complaint_about_a_row_carries_it(case):
    call, row, column = BAD_ROWS[case]
    with pytest.raises(RowError) as caught:
        call()
    assert (caught.value.row, caught.value.column) == (row, column)
    assert str(caught.value).startswith(f"row {row}")
    assert str(caught.value).endswith(f": {caught.value.reason}")


def test_the_name_of_a_class_is_not_taken_for_a_row():
    with pytest.raises(RowError) as caught:
        encode(["row 0", "x"], ["row 0", "row 1"])
    assert caught.value.row == 1
    assert caught.value.reason == "the label 'x' is not one of the classes ['row 0', 'row 1']."
    assert str(caught.value.at("line 7")) == f"line 7: {caught.value.reason}"


def test_an_entry_of_a_table_is_called_a_label():
    with pytest.raises(RowError, match=r"^row 1, label 1: an entry must be 0, 1 or missing \(NaN\)\. Got 5 instead\.$"):
        encode_multilabel([[0, 1], [0, 5]], [0, 1])


def test_errors_pickle():
    with pytest.raises(RowError) as caught:
        encode([1, 9], [1, 2])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.row, again.reason) == (str(caught.value), 1, caught.value.reason)
