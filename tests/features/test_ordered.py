"""Ordered categories keep their order: as steps, scores or codes, in every form, file and explanation."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankwise as rw
from rankwise import TableEncoder
from rankwise.features import RowError
from tests.cli.commands import facts, succeed

LEVELS = ["low", "medium", "high", "top"]
VALUES = ["low", "high", "medium", None, "high"]


def pandas_frame(values=VALUES, levels=LEVELS):
    return pd.DataFrame({"size": pd.Categorical(values, categories=levels, ordered=True)})


def arrow_table(values=VALUES, levels=LEVELS):
    codes = pa.array([None if v is None else levels.index(v) for v in values], pa.int8())
    return pa.table({"size": pa.DictionaryArray.from_arrays(codes, pa.array(levels), ordered=True)})


def polars_frame(values=VALUES, levels=LEVELS):
    return pl.DataFrame({"size": pl.Series(values, dtype=pl.Enum(levels))})


FORMS = pytest.mark.parametrize("form", [pandas_frame, arrow_table, polars_frame])
MEAN = [0.75, 0.5]  # of the rows with a level: at least medium, at least high


@FORMS
def test_cumulative_indicators(form):
    encoder = TableEncoder().fit(form())
    assert encoder.kinds_ == {"size": "ordered"}
    assert encoder.get_feature_names_out().tolist() == ["size>=medium", "size>=high"]  # no row has "top"
    np.testing.assert_array_equal(encoder.transform(form()), [[0, 0], [1, 1], [1, 0], MEAN, [1, 1]])
    new = pd.DataFrame({"size": ["top", "high", "unheard of"]})  # texts will do
    np.testing.assert_array_equal(encoder.transform(new), [[1, 1], [1, 1], MEAN])


@FORMS
def test_scores_are_scaled_as_numbers_are(form):
    encoder = TableEncoder(ordered="scores", scaling="none").fit(form())
    assert encoder.get_feature_names_out().tolist() == ["size"]
    np.testing.assert_array_equal(encoder.transform(form())[:, 0], [0, 2, 1, 1.25, 2])
    standard = TableEncoder(ordered="scores").fit_transform(form())[:, 0]
    number = TableEncoder(numbers="linear").fit_transform(pd.DataFrame({"size": [0, 2, 1, None, 2]}))[:, 0]
    np.testing.assert_allclose(standard, number)


@FORMS
def test_indicators_as_for_other_categories(form):
    encoder = TableEncoder(ordered="indicators").fit(form())
    plain = pd.DataFrame({"size": VALUES})
    assert encoder.kinds_ == {"size": "category"}
    assert encoder.get_feature_names_out().tolist() == ["size=high", "size=low", "size=medium"]
    np.testing.assert_array_equal(encoder.transform(form()), TableEncoder().fit_transform(plain))
    by_kind = TableEncoder(kinds={"size": "category"}).fit(form())
    np.testing.assert_array_equal(by_kind.transform(form()), encoder.transform(form()))
    assert TableEncoder(categories="hash").fit(form()).kinds_ == {"size": "category"}


@FORMS
def test_codes_are_a_number_for_trees(form):
    encoder = TableEncoder.for_trees().fit(form())
    assert encoder.categorical_ == []
    np.testing.assert_array_equal(encoder.transform(form())[:, 0], [0, 2, 1, np.nan, 2])
    unordered = TableEncoder.for_trees(ordered="indicators").fit(form())
    assert unordered.categorical_ == [0]


def test_missing_and_new_levels():
    table, new = pandas_frame(), pd.DataFrame({"size": ["other", None]})
    median = TableEncoder(missing="median").fit(table)
    np.testing.assert_array_equal(median.transform(new), [[1, 1], [1, 1]])
    both = TableEncoder(unknown="column", indicate_missing=True).fit(table)
    assert both.get_feature_names_out().tolist() == ["size>=medium", "size>=high", "size is new", "size is missing"]
    np.testing.assert_array_equal(both.transform(new), [[*MEAN, 1, 0], [*MEAN, 0, 1]])
    with pytest.raises(
        RowError, match=r"row 0, column 'size': a level must be one of low, medium, high, top\. Got 'other'"
    ):
        TableEncoder(unknown="refuse").fit(table).transform(new)
    with pytest.raises(RowError, match="row 3, column 'size': a value is missing"):
        TableEncoder(missing="refuse").fit(table)
    kept = TableEncoder(missing="keep").fit(table).transform(table)
    assert np.isnan(kept[3]).all()
    assert not np.isnan(kept[:3]).any()


def test_few_rows_and_many_levels_share_their_cuts():
    levels = [f"{i:03}" for i in range(200)]
    table = pandas_frame([*levels, *levels[50:52]], levels)
    assert TableEncoder().fit(table).n_features_out_ == 100
    few = TableEncoder(min_category_rows=2).fit(table)
    assert few.get_feature_names_out().tolist() == ["size>=050", "size>=051"]


def test_an_order_cannot_be_declared_where_there_is_none():
    with pytest.raises(ValueError, match=r"column 'size' cannot be ordered: its type, .*string, has no order"):
        TableEncoder(kinds={"size": "ordered"}).fit(pd.DataFrame({"size": VALUES}))
    with pytest.raises(ValueError, match="holds no value"):
        TableEncoder(kinds={"size": "ordered"}).fit(pandas_frame([None, None]))


def graded(n=600, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.integers(0, 4, n)
    x = rng.normal(size=n)
    score = np.array([0.0, 0.2, 2.0, 2.1])[size] + x + 0.5 * rng.logistic(size=n)
    frame = pandas_frame([LEVELS[k] for k in size]).assign(x=x)
    frame.loc[::50, "size"] = None
    return frame, np.digitize(score, [0.5, 1.5, 2.5])


def test_without_a_penalty_it_fits_as_indicators_with_a_reference_do():
    frame, y = graded()
    fits = [
        rw.TableModel(rw.CumulativeLink(alpha=0), TableEncoder(numbers="linear", ordered=how)).fit(frame, y)
        for how in ("cumulative", "indicators")
    ]
    np.testing.assert_allclose(fits[0].predict_proba(frame), fits[1].predict_proba(frame), atol=2e-3)
    names = fits[0].encoder_.get_feature_names_out().tolist()
    assert names == ["x", "size>=medium", "size>=high", "size>=top", "size is missing"]
    steps = dict(zip(names, fits[0].estimator_.coef_, strict=True))
    assert steps["size>=high"] > 3 * abs(steps["size>=top"])


@pytest.mark.parametrize("how", ["cumulative", "scores", "indicators"])
@pytest.mark.parametrize("estimator", [rw.SVOR(), rw.BoostedThresholds(max_iter=8, early_stopping=False)], ids=repr)
def test_model_files_and_explanations(how, estimator, tmp_path):
    frame, y = graded()
    encoder = TableEncoder(ordered=how) if isinstance(estimator, rw.SVOR) else TableEncoder.for_trees(ordered=how)
    model = rw.TableModel(estimator, encoder).fit(frame, y)
    rw.save(model, tmp_path / "model")
    again = rw.load(tmp_path / "model")
    np.testing.assert_array_equal(again.project(frame), model.project(frame))
    explained = rw.explain(model, frame)
    assert explained.columns == ["size", "x"]
    np.testing.assert_allclose(explained.base + explained.values.sum(axis=1), model.project(frame), atol=1e-6)
    assert explained.importances()[0] > 0.1


def test_trees_alone_split_it_as_a_number(tmp_path):
    frame, y = graded()
    model = rw.BoostedThresholds(max_iter=8, early_stopping=False).fit(frame, y)
    coded = frame.assign(size=frame["size"].cat.codes.replace(-1, np.nan).astype(float))
    numbers = rw.BoostedThresholds(max_iter=8, early_stopping=False).fit(coded, y)
    np.testing.assert_array_equal(model.project(frame), numbers.project(coded))
    rw.save(model, tmp_path / "model")
    np.testing.assert_array_equal(rw.load(tmp_path / "model").project(frame), model.project(frame))
    declared = rw.BoostedThresholds(max_iter=8, early_stopping=False, categorical_features=["size"]).fit(frame, y)
    assert declared._categorical() == [0]


@pytest.mark.parametrize(
    "change",
    [
        {"levels": ["a", "a", "b", "c"]},
        {"levels": []},
        {"how": "odd"},
        {"cuts": [2, 1]},
        {"cuts": [1, 4]},
        {"cuts": [1]},
        {"fill": [0.5, float("nan")]},
        {"how": "scores"},
        {"factor": 1},
        {"other": 1},
    ],
    ids=str,
)
def test_forged_columns_are_refused(change):
    encoder = TableEncoder().fit(pandas_frame())
    plain = encoder.to_plain()
    TableEncoder().from_plain(plain)
    plain["columns"] = [{**plain["columns"][0], **change}]
    with pytest.raises(ValueError, match=r"."):
        TableEncoder().from_plain(plain)


def test_graphs_take_the_places_of_levels():
    onnxruntime = pytest.importorskip("onnxruntime")
    from rankwise.onnx import to_onnx

    frame, y = graded()
    model = rw.BoostedThresholds(max_iter=8, early_stopping=False).fit(frame, y)
    graph = to_onnx(model)
    metadata = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(metadata["categories"]) == {"size": LEVELS}
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    places = frame.assign(size=frame["size"].cat.codes.replace(-1, np.nan)).to_numpy(np.float64)
    name = session.get_inputs()[0]
    rows = places.astype(np.float32 if "float)" in name.type else np.float64)
    assert session.run(None, {name.name: rows})[0].ravel().tolist() == model.predict(frame).tolist()


@pytest.mark.parametrize("make", [pandas_frame, polars_frame])
def test_the_command_takes_types_from_parquet(make, tmp_path):
    sizes = [LEVELS[k] for k in np.random.default_rng(0).integers(0, 4, 80)]
    frame = make(sizes)
    grades = [LEVELS.index(size) // 2 + 1 for size in sizes]
    table = pa.table(
        {"size": frame.to_arrow()["size"] if make is polars_frame else pa.Array.from_pandas(frame["size"])}
    )
    pq.write_table(table.append_column("grade", pa.array(grades)), tmp_path / "rows.parquet")
    (tmp_path / "new.csv").write_text("size\ntop\nlow\n")
    fit = ["fit", tmp_path / "rows.parquet", "--label", "grade", "--estimator", "CumulativeLink"]
    for options, features in ([], 3), (["--ordered", "scores"], 1), (["--ordered", "indicators"], 4):
        made = facts(*fit, *options, "--output", tmp_path / "model")
        assert made["features"] == features
        assert succeed("predict", tmp_path / "model", tmp_path / "new.csv").split()[-2:] == ["top,2", "low,1"]
    assert facts(*fit, "--output", tmp_path / "model")["read_as"] == {
        "size": "ordered category (low < medium < high < top)"
    }
