import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankwise import RowError
from rankwise.raters import RaterModel, combine
from rankwise.raters._answers import read_answers

LONG = {"item": ["x", "y", "x", "y"], "rater": ["b", "b", "a", "a"], "label": ["1", "2-3", "?", "<=2"]}


def said(table, classes=(1, 2, 3), **names):
    names = {"item": "item", "rater": "rater", "label": "label", **names}
    answers = read_answers(table, classes, **names)
    keys = zip(answers.items[answers.item], answers.raters[answers.rater], answers.labels.tolist(), strict=True)
    return {(item, rater): label for item, rater, label in keys if label is not None}


EXPECTED = {("x", "b"): 1, ("y", "b"): (2, 3), ("y", "a"): (1, 2)}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_long_tables_of_every_library(make):
    assert said(make(LONG)) == EXPECTED


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_wide_tables_of_every_library(make):
    wide = {"item": ["x", "y"], "b": ["1", "2-3"], "a": [None, "<=2"]}
    assert said(make(wide)) == EXPECTED


def test_the_index_of_a_wide_pandas_table_names_the_items_and_other_tables_have_row_numbers():
    wide = {"b": ["1", "2-3"], "a": [None, "<=2"]}
    assert said(pd.DataFrame(wide, index=["x", "y"])) == EXPECTED
    assert set(said(wide)) == {(0, "b"), (1, "b"), (1, "a")}


def test_two_columns_may_hold_the_ends_of_intervals():
    table = {"site": [1, 1], "who": ["a", "b"], "lower": [1, 2], "upper": [2, np.nan]}
    found = said(table, item="site", rater="who", label=("lower", "upper"))
    assert found == {(1, "a"): (1, 2), (1, "b"): (2, 3)}


def test_an_ordered_categorical_gives_the_order():
    grades = pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)
    for table in ({"item": [1, 1], "rater": ["a", "b"], "label": grades}, pd.DataFrame({"a": grades, "b": grades})):
        names = {"item": "item", "rater": "rater", "label": "label"}
        assert read_answers(table, None, **names).order.values.tolist() == ["low", "mid", "high"]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="Not found: 'label' among 'item', 'rater', 'stars'"):
        combine({"item": [1], "rater": [1], "stars": [1]})


def test_an_answer_without_a_name_is_refused():
    with pytest.raises(RowError, match=r"rater.*missing") as error:
        combine({"item": [1, 2], "rater": ["a", None], "label": [1, 2]})
    assert error.value.row == 1


def test_tables_that_are_none_are_refused():
    with pytest.raises(TypeError, match="Got list"):
        RaterModel().fit([[1, 2]])
    with pytest.raises(ValueError, match="same length"):
        combine({"a": [1, 2], "b": [1]}, classes=[1, 2])
