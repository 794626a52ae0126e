"""Labels in pandas, polars, pyarrow and masked arrays: the same labels, whatever holds them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from rankwise.labels import OrderNote, decode, encode, encode_multilabel, encode_rankings
from tests.reference import labels as plain
from tests.strategies import annotated

NAN = float("nan")
GRADES = ["poor", "fair", "good", "great"]
ORDERED = pd.CategoricalDtype(GRADES, ordered=True)
UNORDERED = pd.CategoricalDtype(GRADES)


def arrow_dictionary(values, categories, ordered):
    codes = [None if v is None else categories.index(v) for v in values]
    return pa.DictionaryArray.from_arrays(pa.array(codes, type=pa.int8()), pa.array(categories), ordered=ordered)


def ends_of(labels):
    return labels.lower.tolist(), labels.upper.tolist()


# -- one column --------------------------------------------------------------------------------------------------------

NUMBERS = {
    "pandas int": pd.Series([3, 1, 2], index=[7, 8, 9]),
    "pandas float": pd.Series([3.0, 1.0, 2.0]),
    "pandas Int64": pd.Series([3, 1, 2], dtype="Int64"),
    "pandas UInt8": pd.Series([3, 1, 2], dtype="UInt8"),
    "pandas Float32": pd.array([3, 1, 2], dtype="Float32"),
    "pandas arrow": pd.Series([3, 1, 2], dtype="int64[pyarrow]"),
    "pandas object": pd.Series([3, 1, 2], dtype=object),
    "pandas index": pd.Index([3, 1, 2]),
    "pandas category": pd.Series([3, 1, 2], dtype="category"),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([3, 1, 2])),
    "pandas frame": pd.DataFrame({"grade": [3, 1, 2]}),
    "polars": pl.Series([3, 1, 2]),
    "polars UInt8": pl.Series([3, 1, 2], dtype=pl.UInt8),
    "polars Float32": pl.Series([3, 1, 2], dtype=pl.Float32),
    "polars frame": pl.DataFrame({"grade": [3, 1, 2]}),
    "pyarrow": pa.array([3, 1, 2]),
    "pyarrow int8": pa.array([3, 1, 2], type=pa.int8()),
    "pyarrow float": pa.array([3.0, 1.0, 2.0], type=pa.float32()),
    "pyarrow chunks": pa.chunked_array([[3], [1, 2], []]),
    "pyarrow table": pa.table({"grade": [3, 1, 2]}),
    "pyarrow batch": pa.record_batch({"grade": [3, 1, 2]}),
    "pyarrow dictionary": pa.array([3, 1, 2]).dictionary_encode(),
    "masked": np.ma.array([3, 1, 2], mask=False),
}


@pytest.mark.parametrize("y", NUMBERS.values(), ids=NUMBERS)
def test_exact_numbers(y):
    for classes in (None, [1, 2, 3]):
        labels = encode(y, classes, n_rows=3)
        assert labels.classes.tolist() == [1, 2, 3]
        assert ends_of(labels) == ([2, 0, 1], [2, 0, 1])


WITH_MISSING = {
    "pandas float": pd.Series([3, NAN, 1]),
    "pandas Int64": pd.Series([3, pd.NA, 1], dtype="Int64"),
    "pandas Float64": pd.Series([3, pd.NA, 1], dtype="Float64"),
    "pandas arrow": pd.Series([3, None, 1], dtype="int64[pyarrow]"),
    "pandas object": pd.Series([3, None, 1], dtype=object),
    "pandas object NA": pd.Series([3, pd.NA, 1], dtype=object),
    "pandas object NaT": pd.Series([3, pd.NaT, 1], dtype=object),
    "pandas category": pd.Series([3, None, 1], dtype="category"),
    "polars": pl.Series([3, None, 1]),
    "polars float null": pl.Series([3.0, None, 1.0]),
    "polars float NaN": pl.Series([3.0, NAN, 1.0]),
    "pyarrow": pa.array([3, None, 1]),
    "pyarrow float": pa.array([3.0, None, 1.0]),
    "pyarrow float NaN": pa.array([3.0, NAN, 1.0]),
    "pyarrow chunks": pa.chunked_array([[3, None], [1]]),
    "pyarrow dictionary": pa.array([3, None, 1]).dictionary_encode(),
    "masked int": np.ma.array([3, 77, 1], mask=[0, 1, 0]),
    "masked float": np.ma.array([3.0, 77.0, 1.0], mask=[0, 1, 0]),
    "masked object": np.ma.array([3, "x", 1], mask=[0, 1, 0], dtype=object),
}


@pytest.mark.parametrize("y", WITH_MISSING.values(), ids=WITH_MISSING)
def test_numbers_with_missing_ones(y):
    for classes in (None, [1, 3]):
        labels = encode(y, classes)
        assert labels.classes.tolist() == [1, 3]
        assert ends_of(labels) == ([1, 0, 0], [1, 1, 0])
        assert labels.is_missing.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "y",
    [
        pl.Series([3, None, 1]),
        pa.array([3, None, 1]),
        pd.array([3, None, 1], dtype="Int64"),
        WITH_MISSING["masked int"],
    ],
    ids=["polars", "pyarrow", "pandas", "masked"],
)
def test_whole_numbers_stay_whole_next_to_nulls(y):
    assert encode(y).classes.dtype == np.int64


STRINGS = {
    "pandas str": pd.Series(["good", None, "fair"]),
    "pandas string": pd.Series(["good", pd.NA, "fair"], dtype="string"),
    "pandas object": pd.Series(["good", None, "fair"], dtype=object),
    "pandas index": pd.Index(["good", None, "fair"]),
    "pandas category": pd.Series(["good", None, "fair"], dtype=UNORDERED),
    "polars": pl.Series(["good", None, "fair"]),
    "polars Categorical": pl.Series(["good", None, "fair"], dtype=pl.Categorical),
    "pyarrow": pa.array(["good", None, "fair"]),
    "pyarrow large": pa.array(["good", None, "fair"], type=pa.large_string()),
    "pyarrow dictionary": arrow_dictionary(["good", None, "fair"], GRADES, ordered=False),
    "masked": np.ma.array(["good", "x", "fair"], mask=[0, 1, 0]),
}


@pytest.mark.parametrize("y", STRINGS.values(), ids=STRINGS)
def test_strings(y):
    labels = encode(y, GRADES)
    assert ends_of(labels) == ([2, 0, 1], [2, 3, 1])
    with pytest.warns(OrderNote, match=r"\['fair', 'good'\].*classes="):
        labels = encode(y)
    assert labels.classes.tolist() == ["fair", "good"]
    assert ends_of(labels) == ([1, 0, 0], [1, 1, 0])


ORDERED_COLUMNS = {
    "pandas Categorical": pd.Categorical(["good", None, "poor"], dtype=ORDERED),
    "pandas series": pd.Series(["good", None, "poor"], dtype=ORDERED),
    "pandas index": pd.CategoricalIndex(["good", None, "poor"], dtype=ORDERED),
    "pandas frame": pd.DataFrame({"y": pd.Series(["good", None, "poor"], dtype=ORDERED)}),
    "polars Enum": pl.Series(["good", None, "poor"], dtype=pl.Enum(GRADES)),
    "polars frame": pl.DataFrame({"y": pl.Series(["good", None, "poor"], dtype=pl.Enum(GRADES))}),
    "pyarrow": arrow_dictionary(["good", None, "poor"], GRADES, ordered=True),
    "pyarrow chunks": pa.chunked_array([arrow_dictionary(part, GRADES, True) for part in (["good", None], ["poor"])]),
    "pyarrow table": pa.table({"y": arrow_dictionary(["good", None, "poor"], GRADES, ordered=True)}),
}


@pytest.mark.parametrize("y", ORDERED_COLUMNS.values(), ids=ORDERED_COLUMNS)
def test_ordered_columns_carry_the_order_and_classes_that_do_not_occur(y):
    labels = encode(y)
    assert labels.classes.tolist() == GRADES
    assert ends_of(labels) == ([2, 0, 0], [2, 3, 0])
    assert decode(labels.lower[[0, 2]], labels.classes).tolist() == ["good", "poor"]


@pytest.mark.parametrize("y", ORDERED_COLUMNS.values(), ids=ORDERED_COLUMNS)
def test_declared_classes_come_before_those_of_the_column(y):
    assert ends_of(encode(y, ["poor", "good"])) == ([1, 0, 0], [1, 1, 0])
    with pytest.raises(ValueError, match=r"row 0: the label 'good' is not one of the classes \['poor', 'fair'\]"):
        encode(y, ["poor", "fair"])


def test_ordered_categories_of_numbers_and_intervals():
    labels = encode(pd.Categorical([2.5, 10, 10], categories=[10, 2.5, 7], ordered=True))
    assert labels.classes.tolist() == [10, 2.5, 7]
    assert labels.lower.tolist() == [1, 0, 0]
    parts = pd.cut(pd.Series([0.1, 0.9, 0.5]), 3)
    labels = encode(parts)
    assert labels.classes.tolist() == list(parts.cat.categories)
    assert labels.lower.tolist() == [0, 2, 1]


def test_unordered_numbers_in_categories_sort():
    assert encode(pd.Categorical([9, 1, 5], categories=[9, 5, 1, 77])).classes.tolist() == [1, 5, 9]
    half_grades = pd.Categorical([1.5, 0.5] * 5)
    assert encode(half_grades).lower.tolist() == [1, 0] * 5


def test_chunks_with_different_dictionaries():
    chunks = pa.chunked_array(
        [pa.array(part).dictionary_encode() for part in (["good", "poor"], ["fair", None, "poor"])]
    )
    assert encode(chunks, GRADES).lower.tolist() == [2, 0, 1, 0, 0]
    assert len(encode(pa.chunked_array([], type=pa.int64()), [1, 2])) == 0


@pytest.mark.parametrize(
    "classes",
    [
        pd.Series(GRADES, index=list("dcba")),
        pd.Index(GRADES),
        pd.Categorical(GRADES, dtype=ORDERED),
        pd.Categorical(["good", "poor"], dtype=ORDERED),
        pd.Series(["great"], dtype=ORDERED),
        pd.Categorical(GRADES),
        pl.Series(GRADES),
        pl.Series(["good"], dtype=pl.Enum(GRADES)),
        pa.array(GRADES),
        arrow_dictionary(["good"], GRADES, ordered=True),
        np.array(GRADES),
    ],
    ids=lambda c: f"{type(c).__module__}.{type(c).__name__}",
)
def test_classes_in_any_container(classes):
    """An ordered column gives all its categories, any other its values in the order given."""
    labels = encode(["good", ("fair", None)], classes)
    assert labels.classes.tolist() == GRADES
    assert ends_of(labels) == ([2, 1], [2, 3])


@given(annotated(kinds=("exact", "missing")))
def test_all_containers_equal_the_twin(rows):
    twin = plain.encode(rows.y, rows.classes)
    names = [None if v is None else f"n{v}" for v in rows.y]
    order = [f"n{v}" for v in rows.classes]
    floats = np.array([NAN if v is None else v for v in rows.y], dtype=float)
    for y, classes in [
        (pd.Series(rows.y, dtype="Int64"), rows.classes),
        (pd.Series(rows.y, dtype=object), rows.classes),
        (pd.Categorical(rows.y, categories=rows.classes, ordered=True), None),
        (pd.Categorical(names, categories=order, ordered=True), None),
        (pl.Series(rows.y, dtype=pl.Int16), rows.classes),
        (pl.Series(names, dtype=pl.Enum(order)), None),
        (pa.array(rows.y, type=pa.int32()), rows.classes),
        (arrow_dictionary(names, order, ordered=True), None),
        (np.ma.masked_invalid(floats), rows.classes),
        (floats.astype(np.float32), rows.classes),
    ]:
        labels = encode(y, classes)
        assert ends_of(labels) == twin[:2]
        assert labels.mask is None


# -- intervals ---------------------------------------------------------------------------------------------------------

LOWER, UPPER = [1, None, 2, None], [2, 3, None, None]
EXPECTED = ([0, 0, 1, 0], [1, 2, 2, 2])

TABLES = {
    "pandas float": pd.DataFrame({"low": LOWER, "high": UPPER}, dtype=float),
    "pandas Int64": pd.DataFrame({"low": LOWER, "high": UPPER}, dtype="Int64"),
    "pandas object": pd.DataFrame({"low": LOWER, "high": UPPER}, dtype=object),
    "pandas arrow": pd.DataFrame({"low": LOWER, "high": UPPER}, dtype="int64[pyarrow]"),
    "pandas two types": pd.DataFrame({"low": pd.array(LOWER, dtype="Int64"), "high": [2, 3, np.inf, NAN]}),
    "pandas same names": pd.DataFrame(np.array([LOWER, UPPER], dtype=float).T, columns=["y", "y"]),
    "polars": pl.DataFrame({"low": LOWER, "high": UPPER}),
    "polars float": pl.DataFrame({"low": LOWER, "high": UPPER}, schema={"low": pl.Float32, "high": pl.Float64}),
    "pyarrow": pa.table({"low": LOWER, "high": UPPER}),
    "pyarrow batch": pa.record_batch({"low": LOWER, "high": UPPER}),
    "masked": np.ma.masked_invalid(np.array([LOWER, UPPER], dtype=float).T),
    "masked int": np.ma.array([[1, 2], [9, 3], [2, 9], [9, 9]], mask=[[0, 0], [1, 0], [0, 1], [1, 1]]),
    "structured": np.array([(1, 2), (NAN, 3), (2, NAN), (NAN, NAN)], dtype=[("low", float), ("high", float)]),
}


@pytest.mark.parametrize("y", TABLES.values(), ids=TABLES)
def test_two_columns_are_intervals(y):
    for classes in (None, [1, 2, 3]):
        labels = encode(y, classes)
        assert labels.classes.tolist() == [1, 2, 3]
        assert ends_of(labels) == EXPECTED


NAMED_LOWER, NAMED_UPPER = ["poor", None, "fair", None], ["fair", "good", None, None]
NAMED_TABLES = {
    "pandas str": pd.DataFrame({"low": NAMED_LOWER, "high": NAMED_UPPER}),
    "pandas ordered": pd.DataFrame({"low": NAMED_LOWER, "high": NAMED_UPPER}, dtype=ORDERED),
    "pandas unordered": pd.DataFrame({"low": NAMED_LOWER, "high": NAMED_UPPER}, dtype=UNORDERED),
    "pandas one of each": pd.DataFrame({"low": pd.Series(NAMED_LOWER, dtype=ORDERED), "high": NAMED_UPPER}),
    "polars": pl.DataFrame({"low": NAMED_LOWER, "high": NAMED_UPPER}),
    "polars Enum": pl.DataFrame(
        {"low": NAMED_LOWER, "high": NAMED_UPPER}, schema=dict.fromkeys(["low", "high"], pl.Enum(GRADES))
    ),
    "pyarrow": pa.table({"low": NAMED_LOWER, "high": NAMED_UPPER}),
    "pyarrow ordered": pa.table(
        {"low": arrow_dictionary(NAMED_LOWER, GRADES, True), "high": arrow_dictionary(NAMED_UPPER, GRADES, True)}
    ),
}


@pytest.mark.parametrize("name", NAMED_TABLES)
def test_two_columns_of_strings(name):
    y = NAMED_TABLES[name]
    assert ends_of(encode(y, GRADES)) == ([0, 0, 1, 0], [1, 2, 3, 3])
    if name in ("pandas ordered", "pandas one of each", "polars Enum", "pyarrow ordered"):
        labels = encode(y)
        assert labels.classes.tolist() == GRADES
        assert ends_of(labels) == ([0, 0, 1, 0], [1, 2, 3, 3])


def test_an_open_side_may_be_a_column_of_nothing():
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        labels = encode(frame({"low": ["fair", "good"], "high": [None, None]}), GRADES)
        assert ends_of(labels) == ([1, 2], [3, 3])


def test_columns_with_different_orders_are_refused():
    other = pd.CategoricalDtype(GRADES[::-1], ordered=True)
    y = pd.DataFrame({"low": pd.Series(["poor"], dtype=ORDERED), "high": pd.Series(["poor"], dtype=other)})
    with pytest.raises(ValueError, match=r"columns \[lower, upper\] must have the same categories\. Got .*'poor'"):
        encode(y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_boolean_columns_are_a_mask(frame):
    for names, columns in [
        ("ab", [[True, False], [True, True]]),
        ("abc", [[True, False], [False, True], [True, True]]),
    ]:
        y = frame(dict(zip(names, columns, strict=True)))
        labels = encode(y, list(names))
        np.testing.assert_array_equal(labels.admissible(), np.array(columns).T)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("n_columns", [0, 3, 4])
def test_other_frames_are_refused(frame, n_columns):
    y = frame({f"c{j}": [1, 2] for j in range(n_columns)})
    with pytest.raises(ValueError, match=f"one column .* two .*Got {n_columns} columns"):
        encode(y)


def interval_forms(array):
    return [array, pd.IntervalIndex(array), pd.Series(array), pd.DataFrame({"y": array})]


@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@given(
    st.lists(
        st.none()
        | st.tuples(st.integers(-3, 12), st.integers(0, 9)).map(lambda ends: (ends[0] / 2, (ends[0] + ends[1]) / 2)),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.integers(-4, 12).map(lambda v: v / 2), min_size=1, max_size=6, unique=True).map(sorted),
)
def test_interval_arrays_admit_the_classes_inside(closed, intervals, classes):
    array = pd.arrays.IntervalArray([None if v is None else pd.Interval(*v, closed) for v in intervals], closed=closed)
    try:
        codes = [plain.inside(*(v or (None, None)), closed, classes) for v in intervals]
    except plain.RefusedError:
        with pytest.raises(ValueError, match=r"^row \d+: an interval must hold at least one class\. Got [\[(]"):
            encode(array, classes)
        return
    for y in interval_forms(array):
        labels = encode(y, classes)
        assert ends_of(labels) == ([c[0] for c in codes], [c[-1] for c in codes])
        assert labels.mask is None


def test_interval_arrays_with_infinite_ends():
    array = pd.arrays.IntervalArray.from_tuples([(-np.inf, 2), (2, np.inf), (-np.inf, np.inf)], closed="both")
    assert ends_of(encode(array, [1, 2, 3])) == ([0, 1, 0], [1, 2, 2])
    assert encode(array).classes.tolist() == [2]


def test_closed_interval_arrays_say_which_classes_there_are():
    array = pd.arrays.IntervalArray.from_tuples([(1, 3), (2, 5)], closed="both")
    labels = encode(array)
    assert labels.classes.tolist() == [1, 2, 3, 4, 5]
    assert labels.classes.dtype == np.int64
    assert ends_of(labels) == ([0, 1], [2, 4])
    halves = pd.arrays.IntervalArray.from_tuples([(0.5, 1.5)] * 4, closed="both")
    assert encode(halves).classes.tolist() == [0.5, 1.5]
    assert encode(pd.arrays.IntervalArray.from_tuples([(1, 1e300)], closed="both")).classes.tolist() == [1, 1e300]


@pytest.mark.parametrize("closed", ["left", "right", "neither"])
def test_half_open_interval_arrays_do_not(closed):
    array = pd.arrays.IntervalArray.from_tuples([(1, 3), (2, 5)], closed=closed)
    with pytest.raises(ValueError, match=r"half-open intervals do not say which classes there are: .*classes="):
        encode(array)


def test_interval_arrays_need_ascending_numbers():
    array = pd.arrays.IntervalArray.from_tuples([(1, 3)], closed="both")
    for classes in (GRADES, [3, 2, 1]):
        with pytest.raises(ValueError, match=r"needs ascending numeric classes\. Got .*two columns"):
            encode(array, classes)
    days = pd.IntervalIndex.from_breaks(pd.date_range("2020-01-01", periods=3), closed="both")
    with pytest.raises(ValueError, match=r"an interval column must hold numbers\. Got interval\[datetime64"):
        encode(days)


# -- candidate sets and mixtures ---------------------------------------------------------------------------------------

SETS = [[1, 3], [2], None, [1, 2, 3]]


@pytest.mark.parametrize(
    "y",
    [
        [{1, 3}, {2}, None, {1, 2, 3}],
        pd.Series([{1, 3}, {2}, None, {1, 2, 3}]),
        pd.Series(SETS, dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        pl.Series(SETS),
        pl.DataFrame({"y": SETS}),
        pa.array(SETS),
        pa.table({"y": SETS}),
    ],
    ids=["list", "pandas sets", "pandas arrow", "polars", "polars frame", "pyarrow", "pyarrow table"],
)
def test_columns_of_candidate_lists(y):
    labels = encode(y)
    assert labels.classes.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(labels.mask, [[1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 1, 1]])


def test_columns_of_tuples_and_mixtures():
    assert ends_of(encode(pd.Series([(1, 2), (2, None)]))) == ([0, 1], [1, 1])
    assert ends_of(encode(pd.MultiIndex.from_tuples([(1, 2), (2, 3)]))) == ([0, 1], [1, 2])
    labels = encode(pd.Series([(1, 2), 3, {1, 3}, None, {2}]))
    assert ends_of(labels) == ([0, 2, 0, 0, 1], [1, 2, 2, 2, 1])


def test_a_masked_mask_is_refused_and_an_unmasked_one_is_a_mask():
    mask = np.array([[True, False, True], [True, True, True]])
    assert encode(np.ma.array(mask, mask=False)).mask is not None
    with pytest.raises(ValueError, match=r"bad input shape \(2, 3\)"):
        encode(np.ma.array(mask, mask=~mask))


@pytest.mark.parametrize(
    "y", [np.array([[3], [1], [2]]), np.array([["c"], ["a"], ["b"]]), np.array([[True], [False], [True]])]
)
def test_a_column_vector_is_read_with_scikit_learns_warning(y):
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        labels = encode(y, np.unique(y))
    assert labels.lower.tolist() == np.unique(y, return_inverse=True)[1].ravel().tolist()


class ArrayLike:
    """Something with no more than numpy's protocol, as tensors of other libraries are."""

    def __array__(self, dtype=None, copy=None):
        return np.array([[1, 2], [2, 3]], dtype=dtype)


def test_anything_that_numpy_can_read():
    assert ends_of(encode(ArrayLike())) == ([0, 1], [1, 2])


# -- numbers that no float holds ---------------------------------------------------------------------------------------

BIG = 2**53


@pytest.mark.parametrize(
    "y",
    [
        pd.DataFrame({"lower": [BIG + 1, BIG + 1], "upper": [np.nan, BIG + 2.0]}),
        pl.DataFrame({"lower": [BIG + 1, BIG + 1], "upper": [None, BIG + 2]}),
        pa.table({"lower": [BIG + 1, BIG + 1], "upper": [None, BIG + 2]}),
        pd.DataFrame({"lower": [BIG + 1, BIG + 1], "upper": np.array([BIG + 2, BIG + 2], dtype=np.uint64)}),
    ],
    ids=["integers and floats", "polars", "pyarrow", "signed and unsigned"],
)
def test_interval_ends_are_not_rounded(y):
    labels = encode(y, [BIG, BIG + 1, BIG + 2])
    assert ends_of(labels) == ([1, 1], [2, 2])


def test_unsigned_ends_and_wide_integers():
    top = 2**64 - 1
    ends = pd.DataFrame({"lower": np.array([1, top], dtype=np.uint64), "upper": np.array([top, top], dtype=np.uint64)})
    assert ends_of(encode(ends, [1, top - 1, top])) == ([0, 2], [2, 2])
    assert ends_of(encode(ends.to_numpy(), [1, top - 1, top])) == ([0, 2], [2, 2])
    assert encode(ends).classes.tolist() == [1, top]


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no integers of 128 bits")
def test_integers_of_128_bits():
    wide = pl.Series([1, 2**70, 1], dtype=pl.Int128)
    assert encode(wide).classes.tolist() == [1, 2**70]
    assert ends_of(
        encode(pl.DataFrame({"lower": wide, "upper": [2**70] * 3}, schema={"lower": pl.Int128, "upper": pl.Int128}))
    ) == (
        [0, 1, 0],
        [1, 1, 1],
    )


def test_columns_of_lists_are_candidates_and_columns_of_arrays_intervals():
    for y in (pl.Series([[1, 3], [2, 3]]), pa.array([[1, 3], [2, 3]])):
        assert encode(y, [1, 2, 3]).mask is not None
    pairs = pl.Series([[1, 3], [2, 3]], dtype=pl.Array(pl.Int64, 2))
    for y in (pairs, pa.array([[1, 3], [2, 3]], pa.list_(pa.int64(), 2))):
        assert ends_of(encode(y, [1, 2, 3])) == ([0, 1], [2, 2])


def test_a_column_vector_warns_at_the_users_line():
    for read in (encode, encode_rankings):
        with pytest.warns(DataConversionWarning) as caught:
            read(np.array([[1], [2]]))
        assert caught[0].filename == __file__


def test_an_indicator_matrix_is_left_as_it_is():
    y = sparse.csr_matrix((np.array([1.0, 0.0, 1.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    for array in (y.data, y.indices, y.indptr):  # as those of a memory map, which parallel jobs share
        array.flags.writeable = False
    labels = encode_rankings(y)
    assert (labels.indptr.tolist(), labels.above.tolist()) == ([0, 1, 2], [2, 1])


@pytest.mark.parametrize("classes", [[0], [0, 1, 2]])
def test_a_multilabel_table_has_two_classes(classes):
    with pytest.raises(ValueError, match="classes must be two values"):
        encode_multilabel([[0, 1], [1, None]], classes)


@pytest.mark.parametrize("form", [pl.Series, pa.array])
def test_lists_inside_candidate_lists_are_refused(form):
    with pytest.raises(ValueError, match=r"row 1: candidates must be numbers, strings or the like\. Got \[\[2\]\]"):
        encode(form([[], [[2]]]), [1, 2])
