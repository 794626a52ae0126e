"""Raw columns to features: kinds, scales, missing values, categories, texts, and what is refused."""

import datetime
import pickle
import time
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from rankwise import SVOR, TableEncoder
from rankwise.features import RowError
from rankwise.features.arrow_columns import hashed_place

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.features.ColumnWarning")  # see test_texts

OLD_CHECKS = parse_version(sklearn.__version__) < parse_version("1.7")
BY_NAME = "columns are found by their names: their order does not matter, and further ones are passed over"


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _expected_failures(estimator):
    expected = {"check_dataframe_column_names_consistency": BY_NAME}
    if OLD_CHECKS and estimator.missing == "refuse":
        expected["check_positive_only_tag_during_fit"] = "the check itself subtracts a mean from integers in place"
    return expected


@parametrize_with_checks(
    [
        TableEncoder(numbers="spline+products"),
        TableEncoder(missing="refuse", scaling="none"),
        TableEncoder(categories="hash", n_hashed=64),
    ],
    expected_failed_checks=_expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "size": [1.0, 2.0, np.nan, 5.0],
            "count": [3, 1, 2, 2],
            "colour": ["red", "blue", None, "red"],
            "fresh": [True, False, True, True],
            "remark": ["a very fine thing it is", "the thing is not so fine", None, "fine fine fine fine"],
            "empty": [None, None, None, None],
        }
    )


class TestKinds:
    def test_by_type_and_number_of_words(self, frame):
        kinds = TableEncoder().fit(frame).kinds_
        assert kinds == {
            "size": "number",
            "count": "number",
            "colour": "category",
            "fresh": "boolean",
            "remark": "text",
            "empty": "ignore",
        }

    def test_given_ones_win(self, frame):
        encoder = TableEncoder(kinds={"count": "category", "remark": "category", "size": "ignore"}).fit(frame)
        assert "size" not in encoder.feature_names_in_
        names = list(encoder.get_feature_names_out())
        assert [name for name in names if name.startswith("count")] == ["count=1", "count=2", "count=3"]
        assert "remark=fine fine fine fine" in names

    def test_a_number_is_the_same_category_whatever_type_holds_it(self):
        encoder = TableEncoder(kinds={"a": "category"}).fit(pd.DataFrame({"a": [1, 2, 10]}))
        expected = encoder.transform(pd.DataFrame({"a": [10, 1]}))
        for values in ([10.0, 1.0], ["10", "1"], pd.Categorical([10, 1])):
            np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"a": values})), expected)
        np.testing.assert_array_equal(expected, [[0, 1, 0], [1, 0, 0]])

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (pa.array([[1, 2]]), "column 'a' holds list<"),
            (pa.array([b"x"]), "column 'a' holds binary"),
        ],
    )
    def test_what_has_no_kind_is_refused_by_name(self, values, message):
        with pytest.raises(ValueError, match=message):
            TableEncoder().fit(pa.table({"a": values, "b": [1.0]}))

    @pytest.mark.parametrize(
        ("kinds", "message"),
        [
            ({"siez": "number"}, "kinds names the column 'siez'; did you mean 'size'?"),
            (
                {"size": "day"},
                "number, boolean, duration, date, category, ordered, text, date-dmy, date-mdy, ignore. Got 'day'",
            ),
            ({"size": "date"}, "column 'size' held dates when fitted, and now double"),
            ({"size": "text"}, "column 'size' cannot be text: it holds double"),
            ({"empty": "number"}, "column 'empty' holds no finite number"),
        ],
    )
    def test_wrong_kinds(self, frame, kinds, message):
        with pytest.raises(ValueError, match=message):
            TableEncoder(kinds=kinds).fit(frame)

    def test_nothing_left(self, frame):
        with pytest.raises(ValueError, match="no column is left"):
            TableEncoder().fit(frame[["empty"]])


class TestNumbers:
    @pytest.mark.parametrize("scaling", ["standard", "minmax", "robust", "none"])
    def test_scales(self, scaling, rng):
        values = rng.normal(3, 2, size=5001)
        scaled = TableEncoder(numbers="linear", scaling=scaling).fit_transform(pa.table({"a": values}))[:, 0]
        shift, spread = {
            "standard": (values.mean(), values.std()),
            "minmax": (values.min(), np.ptp(values)),
            "robust": (np.median(values), np.subtract(*np.quantile(values, [0.75, 0.25]))),
            "none": (0.0, 1.0),
        }[scaling]
        np.testing.assert_allclose(scaled, (values - shift) / spread, rtol=1e-12, atol=1e-12)

    def test_constant_columns_are_only_shifted(self):
        for scaling in ("standard", "minmax", "robust"):
            encoder = TableEncoder(scaling=scaling).fit([[3.0], [3.0]])
            np.testing.assert_array_equal(encoder.transform([[3.0], [4.0]]), [[0.0], [1.0]])

    @pytest.mark.parametrize(("missing", "fill"), [("mean", 8 / 3), ("median", 2.0)])
    def test_filled(self, frame, missing, fill):
        encoder = TableEncoder(missing=missing, scaling="none").fit(frame[["size"]])
        np.testing.assert_allclose(encoder.transform(frame[["size"]])[:, 0], [1.0, 2.0, fill, 5.0])

    def test_refused_with_row_and_column(self, frame):
        with pytest.raises(RowError, match="row 2, column 'size': a value is missing") as caught:
            TableEncoder(missing="refuse").fit(frame[["count", "size"]])
        assert caught.value.row == 2
        encoder = TableEncoder(missing="refuse").fit(frame[["count", "size"]].dropna())
        with pytest.raises(RowError, match="row 2, column 'size'"):
            encoder.transform(frame)

    def test_infinity_is_always_refused(self):
        encoder = TableEncoder().fit([[1.0], [2.0]])
        with pytest.raises(RowError, match=r"row 1, column 'x0': a number must be finite\. Got inf"):
            encoder.transform([[1.0], [np.inf]])
        with pytest.raises(RowError, match="row 0"):
            TableEncoder().fit([[-np.inf], [2.0]])

    def test_texts_of_numbers_are_read_and_others_refused(self):
        encoder = TableEncoder(scaling="none").fit(pa.table({"a": [1.0, 2.0]}))
        np.testing.assert_array_equal(encoder.transform(pa.table({"a": ["3", " 4.5 ", ""]}))[:, 0], [3.0, 4.5, 1.5])
        with pytest.raises(RowError, match=r"row 1, column 'a': a number is needed\. Got the text 'n/a'"):
            encoder.transform(pa.table({"a": ["3", "n/a"]}))
        with pytest.raises(ValueError, match="column 'a' held numbers when fitted, and now date"):
            encoder.transform(pa.table({"a": [datetime.date(2020, 1, 1)]}))

    def test_a_column_that_is_nearly_all_numbers_is_numbers(self, rng):
        texts = rng.normal(size=200).round(3).astype(str).tolist()
        expected = TableEncoder().fit(pa.table({"a": np.array(texts, dtype=float)}))
        encoder = TableEncoder().fit(pa.table({"a": texts}))
        assert encoder.to_plain() == expected.to_plain()
        texts[70] = "1.2.3"
        frame = pd.DataFrame({"a": texts})
        with pytest.raises(RowError, match=r"row 70, column 'a': a number is needed\. Got the text '1\.2\.3'"):
            TableEncoder().fit(frame)
        assert [(p.row, p.column) for p in TableEncoder().problems(frame)] == [(70, "a")]
        assert TableEncoder(kinds={"a": "category"}).fit(frame).kinds_ == {"a": "category"}
        half = pd.DataFrame({"a": [*texts[:19], "x", "y"]})
        assert TableEncoder().fit(half).kinds_ == {"a": "category"}

    def test_every_text_among_numbers_is_a_problem(self):
        encoder = TableEncoder(missing="refuse").fit(pa.table({"a": [1.0, 2.0]}))
        problems = encoder.problems(pa.table({"a": ["x", "1", None, "y", " "]}))
        assert [(p.row, p.reason.split(".")[0]) for p in problems] == [
            (0, "a number is needed"),
            (2, "a value is missing (NaN), and missing='refuse'"),
            (3, "a number is needed"),
            (4, "a value is missing (NaN), and missing='refuse'"),
        ]

    def test_codes_are_no_numbers(self):
        assert TableEncoder().fit(pa.table({"a": ["00123", "01234", "12345"]})).kinds_ == {"a": "category"}

    @pytest.mark.parametrize(
        ("values", "what"),
        [
            (pd.period_range("2020", periods=60, freq="D"), r"extension<pandas\.period"),
            (pd.interval_range(0, 60), r"extension<pandas\.interval"),
            (pd.Series([10**30 + i for i in range(60)], dtype=object), "integers of more than 64 bits"),
            (pd.Series([10**400, 0.5] * 30, dtype=object), "integers of more than 64 bits"),
        ],
    )
    def test_a_column_of_a_type_without_a_kind_is_refused_by_name(self, values, what):
        with pytest.raises(ValueError, match=rf"^column 'z' holds {what}.*: a column must hold numbers, "):
            TableEncoder().fit(pd.DataFrame({"z": values}))

    def test_a_column_of_uuids_is_refused_by_name(self):
        frame = pd.DataFrame({"z": [uuid.UUID(int=i) for i in range(60)]})
        with pytest.raises((ValueError, TypeError), match="column 'z'"):  # older versions of Arrow have no such type
            TableEncoder().fit(frame)

    def test_decimal_commas(self):
        encoder = TableEncoder(scaling="none").fit(pa.table({"a": ["1,5", "-2,25", "3", ",5", "1e-3"]}))
        assert encoder.kinds_ == {"a": "number"}
        again = TableEncoder(scaling="none")
        again.from_plain(encoder.to_plain())
        np.testing.assert_array_equal(again.transform(pa.table({"a": ["0,25", "4"]}))[:, 0], [0.25, 4.0])
        with pytest.raises(RowError, match=r"row 1, column 'a': a number with a decimal comma is needed\. Got"):
            again.transform(pa.table({"a": ["1,5", "1.5"]}))

    def test_thousands_are_not_decimals(self):
        for texts in (["1,234", "12", "3,456"], ["1,234,567", "2,345"]):
            with pytest.raises(ValueError, match=r"column 'a' holds texts such as '1,234.*', where the comma may"):
                TableEncoder().fit(pa.table({"a": texts}))
        with pytest.raises(ValueError, match=r"declare its kind as 'category' \(kinds=\{'a': \.\.\.\}\)\.$"):
            TableEncoder().fit(pa.table({"a": ["1,234", "2,345"]}))
        assert TableEncoder().fit(pa.table({"a": ["1,234", "0,125", "3,456"]})).kinds_ == {"a": "number"}

    def test_the_work_grows_with_the_columns_not_their_square(self):
        def seconds(n):
            table = pa.table({f"c{j}": [0.0, 1.0] for j in range(n)})
            start = time.process_time()
            TableEncoder().fit(table)
            return time.process_time() - start

        seconds(10)
        # 24 times as long, or about 130 times where a column is looked up by its name; half of either may be noise.
        assert seconds(24_000) < 60 * min(seconds(1000) for _ in range(3))

    def test_fast_path_copies_values_as_they_are(self, rng):
        table = pa.table({f"f{j}": rng.normal(size=5000) for j in range(3)})
        encoder = TableEncoder(numbers="linear", scaling="none").fit(table)
        np.testing.assert_array_equal(encoder.transform(table), np.column_stack([c.to_numpy() for c in table.columns]))
        assert TableEncoder(dtype="float32").fit_transform(table).dtype == np.float32

    def test_very_large_numbers_have_finite_features(self):
        for numbers in ("linear", "spline", "spline+products"):
            rows = [[v, -v] for v in (1e308, -1e308, 1.0, 2.0, 3.0, 1e-308)]
            assert np.isfinite(TableEncoder(numbers=numbers).fit_transform(rows)[:, :2]).all()


class TestCategories:
    def test_unknown_ones(self, frame):
        new = pd.DataFrame({"colour": ["blue", "green", None]})
        known = frame[["colour"]].dropna()
        encoder = TableEncoder().fit(known)
        np.testing.assert_array_equal(encoder.transform(new), [[1, 0], [0, 0], [0, 0]])
        encoder = TableEncoder(unknown="column").fit(known)
        np.testing.assert_array_equal(encoder.transform(new), [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
        assert encoder.get_feature_names_out()[2] == "colour is new"
        with pytest.raises(RowError, match="row 1, column 'colour': a category must be one of those met in fit"):
            TableEncoder(unknown="refuse").fit(known).transform(new)

    def test_indicated(self, frame):
        encoder = TableEncoder(indicate_missing=True).fit(frame)
        names = list(encoder.get_feature_names_out())
        matrix = dense(encoder.transform(frame))
        for name in ("size", "colour", "remark"):
            np.testing.assert_array_equal(matrix[:, names.index(f"{name} is missing")], [0, 0, 1, 0])
        assert "count is missing" not in names

    def test_hashed_ones_know_new_values_and_columns_do_not_mix(self):
        encoder = TableEncoder(categories="hash", n_hashed=1000).fit(pd.DataFrame({"a": ["x"], "b": ["y"]}))
        assert encoder.sparse_
        row = encoder.transform(pd.DataFrame({"a": ["new"], "b": ["x"]}))
        assert sorted(row.indices) == sorted([hashed_place("a", "new", 1000), hashed_place("b", "x", 1000)])
        assert hashed_place("a", "x", 1000) != hashed_place("b", "x", 1000)

    def test_too_many_share_a_column(self):
        frame = pd.DataFrame({"a": [f"v{i}" for i in range(20)]})
        assert TableEncoder(max_categories=20).fit(frame).get_feature_names_out()[-1] == "a=v9"
        names = TableEncoder(max_categories=15).fit(frame).get_feature_names_out()
        assert (len(names), names[-1]) == (16, "a is rare")

    def test_hashed_places_are_the_same_everywhere(self):
        assert [hashed_place("a", text, 65536) for text in ("x", "ä", "")] == [62688, 56596, 47231]

    def test_wide_matrices_are_sparse_and_say_the_same(self):
        frame = pd.DataFrame({c: [f"{c}{i % 90}" for i in range(300)] for c in "abc"} | {"n": np.arange(300.0)})
        encoder = TableEncoder(numbers="linear").fit(frame)
        assert encoder.sparse_
        matrix = encoder.transform(frame)
        assert matrix.has_canonical_format
        narrow = np.column_stack([TableEncoder(numbers="linear").fit_transform(frame[[c]]) for c in "nabc"])
        np.testing.assert_array_equal(matrix.toarray(), narrow)


class TestTexts:
    def test_each_word_counts_once_in_lower_case(self):
        encoder = TableEncoder(kinds={"t": "text"}, texts="hash", n_hashed=4096).fit(pa.table({"t": ["x"]}))
        row = encoder.transform(pa.table({"t": ["Größe, größe! don't 3"]}))
        expected = {hashed_place("t", word, 4096) for word in ("größe", "don", "t", "3")}
        assert set(row.indices.tolist()) == expected
        assert set(row.data) == {1.0}

    def test_missing_and_empty_texts_have_no_words(self):
        for texts in ("hash", "tfidf", "counts"):
            encoder = TableEncoder(kinds={"t": "text"}, texts=texts).fit(pa.table({"t": ["a"]}))
            assert dense(encoder.transform(pa.table({"t": [None, "", " .,"]}))).sum() == 0


class TestTables:
    def test_all_libraries_give_the_same_bits(self, frame):
        frame = frame.drop(columns="empty")
        encoder = TableEncoder(indicate_missing=True).fit(frame)
        expected = dense(encoder.transform(frame))
        arrow = pa.Table.from_pandas(frame)
        for table in (arrow, arrow.to_batches()[0], pl.from_arrow(arrow), frame[frame.columns[::-1]]):
            np.testing.assert_array_equal(dense(encoder.transform(table)), expected)
            again = TableEncoder(indicate_missing=True).fit(table)
            assert {k: again.kinds_[k] for k in encoder.kinds_} == encoder.kinds_

    def test_rows_do_not_depend_on_those_around_them(self, frame):
        table = pa.Table.from_pandas(frame)
        encoder = TableEncoder(indicate_missing=True, categories="hash").fit(table)
        whole = dense(encoder.transform(table))
        parts = [dense(encoder.transform(table.slice(i, 1))) for i in range(len(frame))]
        np.testing.assert_array_equal(np.vstack(parts), whole)

    def test_statistics_do_not_depend_on_chunks(self, rng):
        table = pa.table({"a": rng.normal(size=1000), "b": rng.choice(list("xyz"), size=1000)})
        chunked = pa.Table.from_batches(table.to_batches(max_chunksize=7))
        assert TableEncoder().fit(chunked).to_plain() == TableEncoder().fit(table).to_plain()

    def test_missing_column_is_named(self, frame):
        encoder = TableEncoder().fit(frame)
        with pytest.raises(ValueError, match=r"the table has no column 'colour'; did you mean 'color'\?"):
            encoder.transform(frame.rename(columns={"colour": "color"}))

    def test_rows_that_are_no_table_yet(self):
        lazy = pl.DataFrame({"a": [1.0, 2.0]}).lazy()
        for estimator in (TableEncoder(), SVOR()):
            with pytest.raises(TypeError, match=r"X is a LazyFrame, .*: give X\.collect\(\)"):
                estimator.fit(lazy, [1, 2])
        with pytest.raises(ValueError, match=r"Rows given as dictionaries become a table with pandas\.DataFrame\(X\)"):
            TableEncoder().fit([{"a": 1.0}, {"a": 2.0}])

    def test_refused(self):
        with pytest.raises(TypeError, match="a sparse matrix holds no raw columns"):
            TableEncoder().fit(sparse.eye(3))
        with pytest.raises(ValueError, match="column 'a' occurs twice"):
            TableEncoder().fit(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
        with pytest.raises(ValueError, match="0 sample"):
            TableEncoder().fit(pa.table({"a": pa.array([], pa.float64())}))

    def test_pickles_and_plain_form(self, frame):
        encoder = TableEncoder(indicate_missing=True).fit(frame)
        copy = TableEncoder(indicate_missing=True)
        copy.from_plain(encoder.to_plain())
        for other in (copy, pickle.loads(pickle.dumps(encoder))):
            np.testing.assert_array_equal(dense(other.transform(frame)), dense(encoder.transform(frame)))

    @pytest.mark.parametrize(
        "change",
        [
            lambda plain: plain["columns"].pop(),
            lambda plain: plain["columns"][0].update(shift=float("nan")),
            lambda plain: plain["columns"][0].update(name=3),
            lambda plain: plain["columns"][0].update(kind="text"),
            lambda plain: plain["columns"][0].update(surprise=1),
            lambda plain: plain["columns"][2].update(categories=["a", "a"]),
            lambda plain: plain["kinds"].pop(0),
        ],
    )
    def test_plain_forms_that_make_no_sense_are_refused(self, frame, change):
        plain = TableEncoder().fit(frame).to_plain()
        change(plain)
        with pytest.raises((ValueError, TypeError, KeyError)):
            TableEncoder().from_plain(plain)

    def test_problems_lists_every_bad_row(self, frame):
        encoder = TableEncoder(missing="refuse").fit(frame.dropna(subset=["size"]).drop(columns="empty"))
        problems = encoder.problems(frame)
        assert [(p.row, p.column) for p in problems] == [(2, "size"), (2, "colour"), (2, "remark")]


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=8), st.just("a b c d e"), st.binary()
)


@given(
    values=st.lists(_VALUES, min_size=1, max_size=6),
    scaling=st.sampled_from(["standard", "minmax", "robust", "none"]),
    missing=st.sampled_from(["mean", "median", "refuse"]),
    numbers=st.sampled_from(["linear", "spline", "spline+products"]),
)
def test_any_column_gives_finite_features_or_a_clear_error(values, scaling, missing, numbers):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": 1.0})
    message = ""
    try:
        matrix = TableEncoder(
            scaling=scaling, missing=missing, numbers=numbers, texts="hash", n_hashed=16
        ).fit_transform(frame)
    except (ValueError, TypeError) as error:
        message = str(error)
    if message:
        assert "column 'a'" in message
    else:
        assert np.isfinite(dense(matrix)).all()
        assert matrix.shape[0] == len(values)


@pytest.mark.parametrize(
    "form", [np.asarray, pd.DataFrame, pl.DataFrame, lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]})]
)
def test_a_column_of_nan_alone_is_left_out_in_every_form(form):
    encoder = TableEncoder().fit(form(np.array([[1.0, np.nan], [2.0, np.nan]])))
    assert list(encoder.notes_.values()) == ["no value"]
    assert encoder.n_features_in_ == 1


def _with_gaps(n=400, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "score": rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], n),
            "colour": rng.choice(["blue", "green", "red"], n, p=[0.2, 0.5, 0.3]),
            "shape": rng.choice(["flat", "round"], n).astype(object),
            "origin": rng.choice(["north", "south"], n).astype(object),
        }
    )
    table.loc[rng.random(n) < 0.2, ["shape", "origin"]] = None
    return table


class TestReferenceLevels:
    @pytest.mark.parametrize("numbers", ["linear", "spline", "spline+products"])
    @pytest.mark.parametrize(
        "more", [{}, {"indicate_missing": True}, {"max_categories": 1}, {"min_category_rows": 350}]
    )
    def test_no_features_add_up_to_a_constant(self, numbers, more):
        table = _with_gaps()
        matrix = TableEncoder(numbers=numbers, drop_first=True, **more).fit_transform(table)
        assert np.linalg.matrix_rank(np.column_stack([matrix, np.ones(len(table))])) == matrix.shape[1] + 1

    def test_the_most_frequent_category_is_the_reference_and_missing_ones_are_a_level(self):
        table = _with_gaps()
        encoder = TableEncoder(numbers="linear", drop_first=True).fit(table)
        names = encoder.get_feature_names_out().tolist()
        assert names[:4] == ["size", "score", "colour=blue", "colour=red"]
        # Both columns are missing in the same rows: one indicator tells it.
        assert names[-1] == "shape is missing"
        assert "origin is missing" not in names
        rows = pd.DataFrame({"size": 0.0, "score": 3.0, "colour": ["green", "red", "violet", None],
                             "shape": "flat", "origin": "north"})  # fmt: skip
        np.testing.assert_array_equal(encoder.transform(rows)[:, 2:4], [[0, 0], [0, 1], [0, 0], [0, 0]])

    def test_the_reference_does_not_depend_on_the_order_of_the_rows(self):
        table = pd.DataFrame({"colour": ["b", "a", "c", "b", "a", "c"]})
        for rows in (table, table[::-1]):
            assert TableEncoder(drop_first=True).fit(rows).get_feature_names_out().tolist() == ["colour=b", "colour=c"]

    def test_the_first_spline_is_left_out_and_the_others_stay_as_they_are(self):
        table = _with_gaps()[["size"]]
        every, fewer = (TableEncoder(numbers="spline", drop_first=drop).fit(table) for drop in (False, True))
        np.testing.assert_array_equal(fewer.transform(table), every.transform(table)[:, 1:])
        assert fewer.get_feature_names_out().tolist() == every.get_feature_names_out().tolist()[1:]
        ends = pd.DataFrame({"size": [-99.0, None, 99.0]})
        np.testing.assert_array_equal(fewer.transform(ends), every.transform(ends)[:, 1:])

    def test_a_reference_is_known_and_is_not_rare(self):
        table = pd.DataFrame({"colour": ["a"] * 5 + ["b"] * 3 + ["c"]})
        refusing = TableEncoder(drop_first=True, unknown="refuse").fit(table)
        assert refusing.transform(table).sum() == 4
        with pytest.raises(RowError, match=r"must be one of those met in fit\. Got 'd'"):
            refusing.transform(pd.DataFrame({"colour": ["d"]}))
        rare = TableEncoder(drop_first=True, max_categories=2).fit(table)
        assert rare.get_feature_names_out().tolist() == ["colour=b", "colour is rare"]
        np.testing.assert_array_equal(
            rare.transform(pd.DataFrame({"colour": ["a", "c", "d"]})), [[0, 0], [0, 1], [0, 1]]
        )

    def test_a_column_with_one_level_alone_has_no_feature(self):
        with pytest.raises(ValueError, match="no feature is left to learn from: 'colour' always"):
            TableEncoder(drop_first=True).fit(pd.DataFrame({"colour": ["a", "a"]}))

    def test_rows_of_a_service_have_the_same_bits(self):
        from rankwise.features.number_rows import NumberRows

        table = _with_gaps()[["size", "score"]]
        encoder = TableEncoder(numbers="spline", drop_first=True).fit(table)
        rows, finite = NumberRows(encoder._numbers, np.float64)(table.to_numpy())
        assert finite
        np.testing.assert_array_equal(rows, encoder.transform(table))

    def test_what_it_learnt_is_plain(self):
        table = _with_gaps()
        encoder = TableEncoder(numbers="spline", drop_first=True).fit(table)
        again = TableEncoder(numbers="spline", drop_first=True)
        again.from_plain(encoder.to_plain())
        np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
        plain = encoder.to_plain()
        next(c for c in plain["columns"] if c["name"] == "colour")["reference"] = "red"
        with pytest.raises(ValueError, match="needs distinct texts"):
            again.from_plain(plain)
