"""rankwise fit --estimator CumulativeLink, and what predict gives of its probabilities."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from tests.cli.commands import facts, fail, make_frame, run, succeed

FEATURES = ["a", "c", "colour"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probabilities")
    frame = make_frame()
    frame.to_csv(folder / "rows.csv", index=False)
    ends = ("--lower", "lower", "--upper", "upper", "--ignore", "grade,b,remark", "--classes", "1..4")
    for name in ("CumulativeLink", "SVOR"):
        arguments = folder / "rows.csv", "--estimator", name, *ends, "-o", folder / f"{name}.rankwise"
        result = run("fit", *arguments)
        assert result.exit_code == 0, result.output
    return folder, frame


def _predicted(*arguments):
    return pd.read_csv(io.StringIO(succeed("predict", *arguments)))


def test_probabilities_and_intervals_are_columns(files):
    folder, frame = files
    model = rw.load(folder / "CumulativeLink.rankwise")
    found = _predicted(folder / "CumulativeLink.rankwise", folder / "rows.csv", "--proba", "--interval", 0.8)
    P = model.predict_proba(frame)
    np.testing.assert_allclose(found[[f"P({k})" for k in (1, 2, 3, 4)]], P, rtol=1e-12, atol=1e-15)
    ends = found[["prediction_lower", "prediction_upper"]].to_numpy()
    np.testing.assert_array_equal(ends, model.predict_interval(frame, 0.8))
    np.testing.assert_array_equal(found["prediction"], model.predict(frame))
    assert found.columns[: len(frame.columns)].tolist() == frame.columns.tolist()


def test_conformal_sets_are_intervals_of_their_level(files, tmp_path):
    folder, frame = files
    labels = frame[["lower", "upper"]]
    model = rw.TableModel(rw.ConformalOrdinal(rw.CumulativeLink(classes=[1, 2, 3, 4]), level=0.8, labels="weak"))
    model.fit(frame[FEATURES], labels)
    rw.save(model, tmp_path / "sets.rankwise")
    where = tmp_path / "sets.rankwise", folder / "rows.csv"
    found = _predicted(*where, "--interval", 0.8)[["prediction_lower", "prediction_upper"]]
    expected = model.estimator_.predict_interval(model.encoder_.transform(frame[FEATURES]))
    np.testing.assert_array_equal(found, expected)
    assert "have the level 0.8, and no other" in fail(2, "predict", *where, "--interval", 0.9)
    assert "--scores needs a model with scores" in fail(2, "predict", *where, "--scores")
    assert "do not depend on costs" in fail(2, "predict", *where, "--decision", folder / "rows.csv")


def test_only_and_files_have_them_too(files, tmp_path):
    folder, frame = files
    where = folder / "CumulativeLink.rankwise", folder / "rows.csv"
    succeed("predict", *where, "--only", "--proba", "-o", tmp_path / "p.parquet")
    found = pd.read_parquet(tmp_path / "p.parquet")
    assert found.columns.tolist() == ["prediction", "P(1)", "P(2)", "P(3)", "P(4)"]
    assert len(found) == len(frame)


def test_costs_decide(files, tmp_path):
    folder, frame = files
    cost = np.array([[0, 1, 2, 3], [9, 0, 1, 2], [9, 9, 0, 1], [9, 9, 9, 0]])
    turned = [3, 0, 1, 2]  # in any order: the names say which is which
    table = pd.DataFrame(cost, index=[1, 2, 3, 4], columns=[1, 2, 3, 4]).iloc[turned, turned[::-1]]
    table.to_csv(tmp_path / "costs.csv")
    where = folder / "CumulativeLink.rankwise", folder / "rows.csv"
    found = _predicted(*where, "--decision", tmp_path / "costs.csv")
    P = rw.load(folder / "CumulativeLink.rankwise").predict_proba(frame)
    np.testing.assert_array_equal(found["prediction"], (P @ cost).argmin(axis=1) + 1)


def test_mistakes_are_one_line(files, tmp_path):
    folder, _ = files
    model, rows = folder / "CumulativeLink.rankwise", folder / "rows.csv"
    for option in (("--proba",), ("--interval", 0.9)):
        line = fail(2, "predict", folder / "SVOR.rankwise", rows, *option)
        assert f"{option[0]} needs a model with probabilities. SVOR has none: fit " in line
        assert "CalibratedOrdinal" in line
    assert "--interval must be between 0 and 1" in fail(2, "predict", model, rows, "--interval", 90)
    costs = tmp_path / "costs.csv"
    costs.write_text(",1,2,3\n1,0,1,1\n2,1,0,1\n3,1,1,0\n")
    assert "its header must name the classes 1, 2, 3, 4. Got 1, 2, 3." in fail(
        1, "predict", model, rows, "--decision", costs
    )
    costs.write_text(",1,2,3,4\n1,0,1,1,1\n2,1,0,1,-1\n3,1,1,0,1\n4,1,1,1,0\n")
    assert "finite numbers >= 0. Got -1 in row 1, column 3" in fail(1, "predict", model, rows, "--decision", costs)
    costs.write_text(",1,2,3,4\n1,0,1,1,1\n2,1,0,1,a lot\n3,1,1,0,1\n4,1,1,1,0\n")
    assert "a cost must be a number" in fail(1, "predict", model, rows, "--decision", costs)
    for lines, n_costs in ((["1,0,1,1", "2,1,0,1", "3,1,1,0", "4,1,1,1"], 3), (["1,0,1,1,1", "2", "3", "4"], 0)):
        costs.write_text("\n".join([",1,2,3,4", *lines]))
        line = fail(1, "predict", model, rows, "--decision", costs)
        assert "must have 4 costs" in line
        assert f"Got {n_costs}." in line
    for content in (b",1,2,3,4\n\xe9,0,1,1,1\n", b',"' + b"1" * 200_000 + b'"\n'):
        costs.write_bytes(content)
        assert f"file {costs}: " in fail(1, "predict", model, rows, "--decision", costs)


def test_evaluate_judges_probabilities_where_there_are_any(files):
    folder, frame = files
    ends = ("--lower", "lower", "--upper", "upper")
    found = json.loads(succeed("evaluate", folder / "CumulativeLink.rankwise", folder / "rows.csv", *ends, "--json"))
    model = rw.load(folder / "CumulativeLink.rankwise")
    y = frame[["lower", "upper"]].to_numpy()
    P = model.predict_proba(frame)
    assert found["log_score"] == pytest.approx(rw.metrics.log_score(y, P, classes=model.classes_))
    for name in ("ranked_probability_score", "calibration_error"):
        score = getattr(rw.metrics, {"calibration_error": "cumulative_calibration_error"}.get(name, name))
        assert found[name] == pytest.approx(score(y, P, against="nearest", classes=model.classes_))
        worst = score(y, P, against="farthest", classes=model.classes_)
        assert found[f"{name}_at_worst"] == pytest.approx(worst)
    assert len(found["brier_scores"]) == 3
    held = np.array([[low <= c <= high for c in model.classes_] for low, high in model.predict_interval(frame, 0.9)])
    for name, against in (("coverage", "nearest"), ("coverage_at_worst", "farthest")):
        expected = rw.metrics.set_coverage(y, held, against=against, classes=model.classes_)
        assert found["sets"][name] == pytest.approx(expected)
    assert found["sets"]["width"] == pytest.approx(held.sum(axis=1).mean())
    words = succeed("evaluate", folder / "CumulativeLink.rankwise", folder / "rows.csv", *ends)
    assert "ranked probability score" in words
    assert "calibration error" in words
    assert f"{found['sets']['width']:.3g} classes on average" in words
    assert "log score" not in succeed("evaluate", folder / "SVOR.rankwise", folder / "rows.csv", *ends)


def test_the_report_has_probabilities(files):
    folder, frame = files
    model = rw.load(folder / "CumulativeLink.rankwise")
    made = rw.report.write(model, frame, frame[["lower", "upper"]])
    assert 'id="probabilities"' in made.page
    assert made.facts["probabilities"]["log_score"] > 0
    assert 'id="reliability-chart"' in made.page
    assert sum(line["share"] for line in made.facts["sets"]["sizes"]) == pytest.approx(1.0)
    assert 'id="sets-table"' in made.page
    plain = rw.report.write(rw.load(folder / "SVOR.rankwise"), frame, frame[["lower", "upper"]])
    assert plain.facts["sets"] is None
    assert plain.facts["probabilities"] is None
    made.save(folder / "page.html")


def test_the_report_gives_reasons_and_shows_rows(files):
    folder, frame = files
    y = frame[["lower", "upper"]]
    model = rw.load(folder / "CumulativeLink.rankwise")
    made = rw.report.write(model, frame, y)
    parts = [(frame[a:b], y[a:b]) for a, b in ((0, 30), (30, len(frame)))]
    explained = made.facts["explained"]
    assert rw.report.write(model, iter(parts)).facts["explained"] == explained  # batches do not show
    first = frame[: explained["rows"]]
    expected = rw.explain(model, first)
    sizes = dict(zip(expected.columns, expected.importances(), strict=True))
    assert {line["name"]: line["size"] for line in explained["columns"]} == pytest.approx(sizes)
    P = model.predict_proba(first)
    for one in explained["each"]:
        assert one["reasons"] == expected.sentences(one["row"])
        assert [line["probability"] for line in one["classes"]] == pytest.approx(P[one["row"]])
        assert one["reasons"][0].replace("<", "&lt;") in made.page
    scores = [expected.scores[one["row"]] for one in explained["each"]]
    assert scores == sorted(scores)
    plain = rw.report.write(rw.load(folder / "SVOR.rankwise"), frame, y).facts["explained"]
    assert all("classes" not in one for one in plain["each"])


AROUND = [
    rw.PathCV(rw.SVOR(), [1.0, 0.1]),
    rw.CalibratedOrdinal(rw.SVOR()),
    rw.ConformalOrdinal(rw.CumulativeLink(), random_state=0),
]


@pytest.mark.parametrize("model", AROUND, ids=lambda model: type(model).__name__)
def test_models_around_an_estimator_of_python(model, tmp_path):
    X, y = rw.datasets.make_ordinal(200, 3, 4, random_state=0)
    rw.save(model.fit(X, y), tmp_path / "m.rankwise")
    pd.DataFrame(X, columns=list("abc")).assign(grade=y).to_csv(tmp_path / "rows.csv", index=False)
    found = facts("evaluate", tmp_path / "m.rankwise", tmp_path / "rows.csv", "--label", "grade")
    assert found["mae"] == pytest.approx(np.abs(model.predict(X) - y).mean())


def test_a_model_around_a_model_of_tables(tmp_path):
    X, y = rw.datasets.make_ordinal(200, 3, 4, random_state=0)
    rows = pd.DataFrame(X, columns=list("abc"))
    rw.save(
        rw.ConformalOrdinal(rw.TableModel(rw.CumulativeLink()), random_state=0).fit(rows, y), tmp_path / "m.rankwise"
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    said = fail(1, "predict", tmp_path / "m.rankwise", tmp_path / "rows.csv")
    assert said.endswith("which only Python reads; the commands read TableModel(ConformalOrdinal(...)).")
