"""A column that gives the label is named; honest columns, identifiers and few rows are not."""

import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import rankwise as rw
from rankwise.features import LeakageWarning
from rankwise.features.leakage import leaking_columns
from rankwise.labels import encode
from tests.cli.commands import run


def graded(n=400, seed=0, noise=1.0, n_classes=5):
    """A table with an honest column, noise, a category and an identifier; and grades."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    score = x + noise * rng.logistic(size=n)
    grade = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score) + 1
    table = pd.DataFrame({"x": x, "noise": rng.normal(size=n), "colour": rng.choice(["red", "blue"], n)})
    return table.assign(id=rng.permutation(n), code=[f"K{i}" for i in rng.permutation(n)]), grade


def found(table, y, classes=None):
    return leaking_columns(table, encode(y, classes))


LEAKS = {
    "copy": lambda y: y,
    "float copy": lambda y: 10.0 - y,
    "text": lambda y: np.array(["", "very bad", "bad", "fair", "good", "very good"])[y],
    "category": lambda y: pd.Categorical.from_codes(y - 1, list("abcde")),
    "ordered": lambda y: pd.Categorical.from_codes(y - 1, list("abcde"), ordered=True),
    "number it follows from": lambda y: y + 0.9 * np.random.default_rng(1).uniform(size=y.size),
    "with a few slips": lambda y: np.where(np.arange(y.size) % 100 == 7, 1, y),
    "finer": lambda y: [f"{k}{'abc'[i % 3]}" for i, k in enumerate(y)],
    "date": lambda y: pd.Timestamp("2024-01-01") + pd.to_timedelta(y, unit="D"),
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_what_gives_the_label_is_found(leak):
    table, y = graded()
    assert found(table, y) == []
    assert found(table.assign(other=leak(y)), y) == ["other"]


def test_every_kind_of_table():
    table, y = graded()
    table = table.assign(other=y)
    for form in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
        assert found(form, y) == ["other"]
    array = table[["x", "other"]].to_numpy()
    assert found(array, y) == ["x1"]
    assert found(array.tolist(), y) in ([], ["x1"])
    assert found(sparse.csr_matrix(array), y) == []


def test_imprecise_and_missing_labels():
    table, y = graded(1000)
    leaky = table.assign(other=y)
    rng = np.random.default_rng(0)
    mixed = [
        None if u < 0.2 else (max(1, k - 1), k) if u < 0.5 else {1, int(k)} if u < 0.6 else int(k)
        for u, k in zip(rng.uniform(size=1000), y, strict=True)
    ]
    coarse = [(1, 2) if k < 3 else (3, 5) for k in y]  # which the grade determines
    for labels in (mixed, coarse):
        assert found(table, labels, [1, 2, 3, 4, 5]) == []
        assert found(leaky, labels, [1, 2, 3, 4, 5]) == ["other"]


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n", [100, 150, 1000])
def test_strong_but_honest_columns_are_not_named(n, n_classes):
    for seed in range(40):
        table, y = graded(n, seed, noise=0.1, n_classes=n_classes)
        assert found(table, y) == []


def test_imbalance_few_rows_and_identifiers():
    rng = np.random.default_rng(0)
    for n in (5, 20, 60, 99):
        table, y = graded(n)
        assert found(table.assign(other=y), y) == []
    rare = np.ones(1000, dtype=int)
    rare[:5] = 2
    assert found(pd.DataFrame({"x": rng.normal(size=1000), "copy": rare}), rare) == []
    sets = pd.DataFrame({f"x{j}": rng.integers(0, 2, 120) for j in range(300)})
    assert found(sets, rng.integers(0, 2, 120)) == []
    table, y = graded(300)
    by_grade = table.assign(id=np.argsort(np.argsort(y, kind="stable")))  # rows sorted by the label
    assert found(by_grade, y) == []


MODELS = {
    "table model": lambda: rw.TableModel(rw.SVOR()),
    "no encoder": lambda: rw.TableModel(rw.SVOR(), "none"),
    "search": lambda: rw.AutoOrdinal(n_fits=10, estimators=["SVOR"], cv=2),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_fit_warns_once_and_names_the_column(make):
    table, y = graded()
    table = table[["x", "noise"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeakageWarning)
        make().fit(table, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make().fit(table.assign(other=y), y)
    leaks = [warning for warning in caught if warning.category is LeakageWarning]
    assert len(leaks) == 1
    assert str(leaks[0].message).startswith("the column 'other' alone predicts nearly all labels")
    assert leaks[0].filename == __file__


def test_columns_that_the_encoder_leaves_out_do_not_count():
    table, y = graded()
    table = table[["x", "noise"]].assign(other=y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rw.TableModel(rw.SVOR(), rw.TableEncoder(kinds={"other": "ignore"})).fit(table, y)


def test_streams_warn_at_their_first_chunk():
    table, y = graded()
    table = table[["x", "noise"]].assign(other=y)
    for learn in ("partial_fit", "progressive_predict"):
        model = rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4, 5]))
        with pytest.warns(LeakageWarning):
            getattr(model, learn)(table, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            getattr(model, learn)(table, y)


@pytest.mark.parametrize("test_rows", [False, True])
def test_compare_warns_once(test_rows):
    table, y = graded()
    X = table[["x", "noise"]].assign(other=y).to_numpy()
    models = {"a": rw.SVOR(), "b": rw.TableModel(rw.SVOR())}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        rw.evaluation.compare(models, X, y, *((X, y) if test_rows else ()), cv=3)
    assert sum(warning.category is LeakageWarning for warning in caught) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "--output", "model", "--estimator", "CumulativeLink"],
        ["fit", "--output", "model", "--estimator", "PRIL"],
        ["compare", "--estimator", "SVOR", "--cv", "3"],
        ["tune", "--output", "model", "--fits", "10"],
    ],
    ids=" ".join,
)
def test_commands_say_which_option_leaves_it_out(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, y = graded()
    table[["x"]].assign(grade=y, stars=6 - y).to_csv("rows.csv", index=False)
    result = run(command[0], "rows.csv", "--label", "grade", *command[1:])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("the column 'stars' alone predicts nearly all labels") == 1
    assert "--ignore stars" in result.stderr
    again = run(command[0], "rows.csv", "--label", "grade", "--ignore", "stars", *command[1:])
    assert "alone predicts" not in again.stderr


def test_it_costs_little_on_many_rows():
    table, y = graded(200_000)
    labels = encode(y)
    start = time.perf_counter()
    assert leaking_columns(table, labels) == []
    assert time.perf_counter() - start < 2.0
