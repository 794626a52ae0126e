"""Texts: vocabularies as scikit-learn makes them, hashed places with names, and what is left out of a table."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import rankwise as rw
from rankwise import TableEncoder
from rankwise.features import ColumnWarning, RowError
from rankwise.features.arrow_columns import hashed_place

TEXTS = [
    "the wine is a very fine wine",
    "a fine thing, it is: fine!",
    None,
    "the thing is not so fine",
    "",
    "unheard words, all of them",
]
TABLE = pa.table({"t": TEXTS})


@pytest.mark.parametrize("longest", [1, 2, 3])
@pytest.mark.parametrize(
    ("weighting", "theirs"),
    [
        ("tfidf", TfidfVectorizer()),
        ("counts", CountVectorizer()),
        ("binary", CountVectorizer(binary=True)),
    ],
)
def test_words_are_those_of_scikit_learn(weighting, theirs, longest):
    theirs.set_params(token_pattern=r"\w+", ngram_range=(1, longest), min_df=2)
    plain = [text or "" for text in TEXTS]
    expected = theirs.fit_transform(plain).toarray()
    encoder = TableEncoder(kinds={"t": "text"}, texts=weighting, ngrams=longest).fit(TABLE)
    assert encoder.get_feature_names_out().tolist() == [f"t: {word}" for word in theirs.get_feature_names_out()]
    np.testing.assert_allclose(encoder.transform(TABLE), expected, atol=1e-12)
    new = ["fine new wine", "wine wine is thing"]
    np.testing.assert_allclose(encoder.transform(pa.table({"t": new})), theirs.transform(new).toarray(), atol=1e-12)


def test_the_most_frequent_words_are_kept():
    names = TableEncoder(kinds={"t": "text"}, max_words=2).fit(TABLE).get_feature_names_out().tolist()
    assert names == ["t: fine", "t: is"]
    assert TableEncoder(kinds={"t": "text"}).fit(pa.table({"t": ["one two"]})).n_features_out_ == 2


def test_streams_are_hashed_and_keep_the_names_of_frequent_words(tmp_path):
    encoder = TableEncoder(kinds={"t": "text"}, stream=True, n_hashed=4096).fit(TABLE)
    names = encoder.get_feature_names_out()
    assert names[hashed_place("t", "fine", 4096)] == "t: fine"
    assert names[hashed_place("t", "never", 4096)].startswith("hashed ")
    rw.save(encoder, tmp_path / "m")
    assert rw.load(tmp_path / "m").get_feature_names_out().tolist() == names.tolist()
    model = rw.TableModel(rw.PRIL(), TableEncoder(kinds={"t": "text"}))
    assert model.partial_fit(TABLE, [1, 2, 1, 2, 1, 2], classes=[1, 2]).encoder_._encoding.n_hashed
    assert not model.fit(TABLE, [1, 2, 1, 2, 1, 2]).encoder_._encoding.n_hashed


def test_rare_categories_share_a_column():
    table = pa.table({"c": ["a", "a", "b", "b", "b", "x", "y", None]})
    encoder = TableEncoder(min_category_rows=2).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["c=a", "c=b", "c is rare"]
    np.testing.assert_array_equal(
        encoder.transform(pa.table({"c": ["a", "x", "new", None]})), [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    )
    few = TableEncoder(max_categories=1, unknown="refuse").fit(table)
    assert few.get_feature_names_out().tolist() == ["c=b", "c is rare"]
    assert few.problems(pa.table({"c": ["new"]})) == []


class TestLeftOut:
    @pytest.fixture
    def table(self):
        n = 60
        return pd.DataFrame(
            {
                "a": np.linspace(0, 1, n),
                "same": ["x"] * n,
                "zero": np.zeros(n),
                "code": [f"K{i}-{i * i}" for i in range(n)],
                "Customer ID": np.arange(n) * 7 % 61,
                "size": np.arange(n),
                "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
                "number": [f"{i}.5" for i in range(n)],
            }
        )

    def test_with_a_note(self, table):
        with pytest.warns(ColumnWarning) as caught:
            encoder = TableEncoder().fit(table)
        assert [str(warning.message) for warning in caught] == [
            "columns are left out: 'same' (constant), 'zero' (constant), 'code' (identifier), 'Customer ID' "
            "(identifier). kinds={'same': ...} keeps one, as a category, say; kinds={'same': 'ignore'} leaves it out "
            "without this warning."
        ]
        assert caught[0].filename == __file__
        assert encoder.feature_names_in_.tolist() == ["a", "size", "day", "number"]
        assert encoder.notes_ == {
            "same": "constant: always 'x'",
            "zero": "constant: always 0.0",
            "code": "identifier: 60 different values in 60 rows",
            "Customer ID": "identifier: every row has its own",
        }

    def test_not_by_few_rows_nor_in_streams_nor_against_orders(self, table):
        assert TableEncoder().fit(table[:49]).feature_names_in_.size == 8
        assert TableEncoder(stream=True).fit(table).feature_names_in_.size == 8
        kinds = {"code": "category"} | dict.fromkeys(["same", "zero", "Customer ID"], "ignore")
        assert "code" in TableEncoder(kinds=kinds).fit(table).feature_names_in_

    def test_without_a_warning_where_it_is_asked_for(self, table):
        left_out = dict.fromkeys(["same", "zero", "code", "Customer ID"], "ignore")
        assert TableEncoder(kinds=left_out).fit(table).feature_names_in_.size == 4
        with pytest.warns(ColumnWarning, match="'b' .no value"):
            TableEncoder(stream=True).fit(pd.DataFrame({"a": [1.0, 2.0], "b": [None, None]}))

    def test_a_search_and_a_model_warn_once(self, table):
        y = np.arange(60) % 3
        auto = rw.AutoOrdinal(n_fits=10, estimators=["SVOR", "CumulativeLink, linear"], cv=2)
        for model in (auto, rw.TableModel(rw.SVOR())):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(table, y)
            assert sum(issubclass(warning.category, ColumnWarning) for warning in caught) == 1

    @pytest.mark.parametrize("form", [int, float])
    @pytest.mark.parametrize("name", ["id", "Customer ID", "customerId", "patient_id", "shopID"])
    def test_identifiers_with_duplicates(self, name, form):
        rng = np.random.default_rng(0)
        x = rng.normal(size=400)
        for n_values, kind in ((380, "ignore"), (120, "ignore"), (20, "category")):
            ids = pd.Series(rng.integers(0, n_values, 400)).astype(form)
            if form is float:
                ids[0] = np.nan
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ColumnWarning)
                encoder = TableEncoder().fit(pd.DataFrame({name: ids, "x": x}))
            assert encoder.kinds_[name] == kind
            assert "identifier" in encoder.notes_[name]

    @pytest.mark.parametrize("name", ["paid", "humid", "grid", "price_index", "body mass index", "n_ids", "key", "n"])
    def test_numbers_with_other_names_stay_numbers(self, name):
        values = np.random.default_rng(0).integers(0, 300, 400)
        encoder = TableEncoder().fit(pd.DataFrame({name: values}))
        assert encoder.kinds_[name] == "number"
        with_parts = pd.DataFrame({"id": values + 0.5})
        assert TableEncoder().fit(with_parts).kinds_["id"] == "number"

    def test_nothing_is_left(self, table):
        with pytest.raises(ValueError, match=r"no column is left to learn from: .*'same': constant: always 'x'"):
            TableEncoder().fit(table[["same", "zero"]])


class TestSlips:
    TEXTS = (*map(str, range(60)), "about 100", "3,5", "n/a?")

    def test_say_how_to_mend_them(self):
        problems = TableEncoder().problems(pa.table({"a": self.TEXTS}))
        assert [p.row for p in problems] == [60, 61, 62]
        assert "Got the text 'about 100'. Write '100' if that is meant." in problems[0].reason
        assert "Write '3.5' if that is meant. slips='missing'" in problems[1].reason
        assert "Write" not in problems[2].reason
        with pytest.raises(RowError, match="about 100"):
            TableEncoder().fit(pa.table({"a": self.TEXTS}))

    def test_as_missing_values(self):
        table = pa.table({"a": self.TEXTS})
        with pytest.warns(UserWarning, match=r"3 in 'a', such as 'about 100' in row 60"):
            encoder = TableEncoder(slips="missing", scaling="none").fit(table)
        np.testing.assert_allclose(encoder.transform(table)[60:, 0], np.mean(range(60)))
        with pytest.raises(RowError, match="a value is missing"):
            TableEncoder(slips="missing", missing="refuse").fit(table)


@pytest.mark.parametrize(
    "change",
    [
        lambda column: column["words"].append("fine"),
        lambda column: column["idf"].pop(),
        lambda column: column.update(weighting="loud"),
        lambda column: column.update(words=None),
    ],
)
def test_forged_texts_are_refused(change):
    plain = TableEncoder(kinds={"t": "text"}).fit(TABLE).to_plain()
    change(plain["columns"][0])
    with pytest.raises((ValueError, TypeError)):
        TableEncoder().from_plain(plain)
