"""fit -> predict -> evaluate on files of every format and labels of every form."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import rankwise as rw
from rankwise import persistence
from tests.cli.commands import LINK, facts, make_frame, run, succeed, write

OTHERS = {"w", "lower", "upper", "grade", "said"}
LABELS = {
    "exact": ["--label", "grade"],
    "text": ["--label", "said"],
    "ends": ["--lower", "lower", "--upper", "upper"],
    "weighted": ["--label", "grade", "--weight", "w"],
}


def ignored(labels):
    return ["--ignore", ",".join(sorted(OTHERS - set(labels)))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for suffix in ("csv", "parquet", "jsonl"):
        write(make_frame(), folder / f"train.{suffix}")
        write(make_frame(150, seed=1), folder / f"test.{suffix}")
    return folder


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    succeed("fit", folder / "train.csv", "--label", "grade", *LINK, *ignored(["grade"]), "-o", path)
    return path


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
def test_formats_give_the_same_model(folder, tmp_path, estimator, labels):
    answers = []
    for suffix in ("csv", "parquet", "jsonl"):
        options = [*labels, *ignored(labels), "--ignore", "remark", "--estimator", estimator]
        learnt = facts("fit", folder / f"train.{suffix}", *options, "--output", tmp_path / suffix)
        assert (learnt["rows"], learnt["skipped"], learnt["classes"]) == (300, 0, [1, 2, 3, 4])
        succeed("predict", tmp_path / suffix, folder / f"test.{suffix}", "--output", tmp_path / f"out.{suffix}")
        judged = facts("evaluate", tmp_path / suffix, folder / f"test.{suffix}", "--label", "grade")
        assert judged["rows"] == 150
        assert judged["mae"] < 0.6
        answers.append((rw.load(tmp_path / suffix).to_plain()["estimator"].coef_.tolist(), judged["mae"]))
    assert answers[0] == answers[1] == answers[2]
    out = pd.read_parquet(tmp_path / "out.parquet")
    test = make_frame(150, seed=1)
    pd.testing.assert_frame_equal(out.drop(columns="prediction"), test, check_dtype=False)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "out.csv")["prediction"], out["prediction"])
    np.testing.assert_array_equal(pd.read_json(tmp_path / "out.jsonl", lines=True)["prediction"], out["prediction"])
    assert judged["mae"] == pytest.approx(np.abs(out["prediction"] - test["grade"]).mean())


def test_the_file_is_what_python_would_make(folder, tmp_path):
    options = ["--label", "grade", *ignored(["grade"]), "--estimator", "CumulativeLink"]
    succeed("fit", folder / "train.csv", *options, "--output", tmp_path / "m")
    frame = make_frame()
    model = rw.TableModel(rw.CumulativeLink(classes=[1, 2, 3, 4])).fit(frame.drop(columns=OTHERS), frame["grade"])
    np.testing.assert_array_equal(rw.load(tmp_path / "m").estimator_.coef_, model.estimator_.coef_)
    assert persistence.read_notes(tmp_path / "m")["rows"] == 300


def test_streamed_epochs_are_passes_in_order(folder, tmp_path):
    options = ["--label", "grade", *ignored(["grade"]), "--ignore", "remark", "--estimator", "PRIL"]
    learnt = facts("fit", folder / "train.csv", *options, "--epochs", 3, "--output", tmp_path / "m")
    assert learnt["rows"] == 900
    frame = make_frame()
    X, y = frame.drop(columns=[*OTHERS, "remark"]), frame["grade"]
    model = rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4])).fit_encoder(X)
    first = model.progressive_predict(X, y)
    model.partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(rw.load(tmp_path / "m").estimator_.coef_, model.estimator_.coef_)
    assert learnt["progressive"]["mae"] == pytest.approx(np.abs(first - y).mean())


def test_several_files_and_directories(folder, tmp_path):
    frame = make_frame()
    (tmp_path / "parts").mkdir()
    for i in range(3):
        write(frame[i * 100 : (i + 1) * 100], tmp_path / "parts" / f"{i}.csv.gz")
    options = ["--label", "grade", *ignored(["grade"]), "--estimator", "PRIL"]
    succeed("fit", folder / "train.csv", *options, "-o", tmp_path / "whole")
    succeed("fit", tmp_path / "parts", *options, "-o", tmp_path / "directory")
    succeed("fit", *sorted((tmp_path / "parts").iterdir()), *options, "-o", tmp_path / "files")
    coefficients = [rw.load(tmp_path / name).estimator_.coef_ for name in ("whole", "directory", "files")]
    np.testing.assert_array_equal(coefficients[0], coefficients[1])
    np.testing.assert_array_equal(coefficients[0], coefficients[2])


@pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
def test_svmlight(tmp_path, estimator):
    frame = make_frame()
    X = frame[["a", "c"]].to_numpy()
    dump_svmlight_file(X[:200], frame["grade"][:200], str(tmp_path / "train.svm"), zero_based=False)
    dump_svmlight_file(X[200:, :1], frame["grade"][200:], str(tmp_path / "test.svm"), zero_based=False)
    learnt = facts("fit", tmp_path / "train.svm", "--estimator", estimator, "-o", tmp_path / "m")
    assert learnt["features"] == 2
    assert facts("evaluate", tmp_path / "m", tmp_path / "train.svm")["mae"] < 0.9
    # A file with fewer features than the model knows: the others are zero.
    out = pd.read_csv(io.StringIO(succeed("predict", tmp_path / "m", tmp_path / "test.svm")))
    assert out.columns.tolist() == ["label", "prediction"]
    padded = np.column_stack([X[200:, 0], np.zeros(100)])
    np.testing.assert_array_equal(out["prediction"], rw.load(tmp_path / "m").predict(padded))
    assert facts("evaluate", tmp_path / "m", tmp_path / "train.svm", "--method", "cv")["folds"] == 5


def test_class_names_in_their_order(tmp_path):
    frame = make_frame()
    names = np.array(["poor", "fair", "good", "best"])
    frame["said"] = [f"{names[lo - 1]}-{names[hi - 1]}" for lo, hi in zip(frame.lower, frame.upper, strict=True)]
    write(frame, tmp_path / "train.csv")
    options = ["--label", "said", *ignored(["said"]), "--classes", "poor,fair,good,best"]
    for estimator in ("PRIL", "SVOR"):
        learnt = facts("fit", tmp_path / "train.csv", *options, "--estimator", estimator, "-o", tmp_path / "m")
        assert learnt["classes"] == names.tolist()
    out = [
        json.loads(line) for line in succeed("predict", tmp_path / "m", tmp_path / "train.csv", "--json").splitlines()
    ]
    assert {row["prediction"] for row in out} <= set(names)
    assert facts("evaluate", tmp_path / "m", tmp_path / "train.csv", "--label", "said")["mae"] < 0.3


def test_strings_without_an_order_warn_in_one_line(tmp_path):
    write(pd.DataFrame({"a": [0.0, 1.0, 2.0], "y": ["red", "amber", "green"]}), tmp_path / "t.csv")
    result = run("fit", tmp_path / "t.csv", "--label", "y", "-o", tmp_path / "m")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == result.stderr.count("rankwise: warning: ") == 1


def test_candidate_sets_need_an_estimator_that_takes_them(tmp_path):
    write(pd.DataFrame({"a": np.arange(6.0), "y": ["1", "1|3", "2", "2|3", "3", "?"]}), tmp_path / "t.csv")
    result = run("fit", tmp_path / "t.csv", "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m")
    assert result.exit_code == 1
    assert "row 2 (line 3)" in result.stderr
    assert "CuSumRank" in result.stderr
    succeed("fit", tmp_path / "t.csv", "--label", "y", "--estimator", "CuSumRank", "-o", tmp_path / "m")


class TestPredict:
    def test_to_the_standard_output(self, model, folder):
        out = pd.read_csv(io.StringIO(succeed("predict", model, folder / "test.csv")))
        assert out.columns[-1] == "prediction"
        assert len(out) == 150

    def test_only_the_predictions(self, model, folder):
        lines = succeed("predict", model, folder / "test.parquet", "--only").splitlines()
        assert lines[0] == "prediction"
        assert len(lines) == 151

    def test_rows_need_no_labels_and_may_have_other_columns(self, model, folder, tmp_path):
        test = make_frame(150, seed=1)
        write(test[["remark", "colour", "fresh", "c", "b", "a"]].assign(id="x"), tmp_path / "raw.csv")
        out = pd.read_csv(io.StringIO(succeed("predict", model, tmp_path / "raw.csv")))
        np.testing.assert_array_equal(out["prediction"], rw.load(model).predict(test))

    def test_label_columns_of_csv_files_may_change_their_look(self, tmp_path):
        labels = ["1", "2"] * 5000 + ["1-2"]  # types are found in the first 2 MB, where this is a number
        path = write(pd.DataFrame({"long": "x" * 300, "a": 1.5, "y": labels}), tmp_path / "t.csv")
        options = ["--label", "y", "--classes", "1..2", "--ignore", "long", "--estimator", "PRIL"]
        succeed("fit", path, *options, "-o", tmp_path / "m")
        assert len(succeed("predict", tmp_path / "m", path, "--only").splitlines()) == len(labels) + 1
        assert ",1.5,1-2," in succeed("predict", tmp_path / "m", path).splitlines()[-1]

    def test_no_rows(self, model, tmp_path):
        write(make_frame()[:0], tmp_path / "none.csv")
        lines = succeed("predict", model, tmp_path / "none.csv").splitlines()
        assert len(lines) == 1
        assert lines[0].endswith(",prediction")

    def test_rows_that_cannot_be_encoded_are_skipped_on_demand(self, model, tmp_path):
        frame = make_frame(20, seed=2)
        frame["a"] = frame["a"].astype(object)
        frame.loc[7, "a"] = "much"
        write(frame, tmp_path / "bad.csv")
        result = run("predict", model, tmp_path / "bad.csv")
        assert result.exit_code == 1
        assert "row 8 (line 9): column 'a': a number is needed. Got the text 'much'" in result.stderr
        options = ["--on-error", "skip", "--quarantine", tmp_path / "q.jsonl", "-o", tmp_path / "out.csv"]
        said = facts("predict", model, tmp_path / "bad.csv", *options)
        assert (said["rows"], said["skipped"]) == (19, 1)
        assert json.loads((tmp_path / "q.jsonl").read_text())["row"] == 8

    def test_estimators_saved_from_python(self, tmp_path):
        frame = make_frame()
        write(frame[["a", "c", "grade"]], tmp_path / "t.csv")
        rw.save(rw.PRIL(random_state=0).fit(frame[["a", "c"]].to_numpy(), frame["grade"]), tmp_path / "nameless")
        rw.save(rw.PRIL(random_state=0).fit(frame[["a", "c"]], frame["grade"]), tmp_path / "named")
        judged = [
            facts("evaluate", tmp_path / m, tmp_path / "t.csv", "--label", "grade") for m in ("nameless", "named")
        ]
        assert judged[0]["mae"] == judged[1]["mae"] < 0.5
        succeed("predict", tmp_path / "named", tmp_path / "t.csv")
        result = run("predict", tmp_path / "nameless", tmp_path / "t.csv")
        assert result.exit_code == 1
        assert "takes 2 features without names, and the files have 3 columns" in result.stderr


class TestEvaluate:
    def test_methods(self, folder, tmp_path):
        options = ["--label", "grade", *ignored(["grade"])]
        succeed("fit", folder / "train.csv", *options, "--estimator", "PRIL", "-o", tmp_path / "m")
        results = {
            method: facts("evaluate", tmp_path / "m", folder / "test.csv", "--label", "grade", "--method", method)
            for method in ("holdout", "progressive", "cv")
        }
        test = make_frame(150, seed=1)
        X, y = test.drop(columns=OTHERS), test["grade"].to_numpy()
        as_it_is = np.abs(rw.load(tmp_path / "m").predict(X) - y)
        assert results["holdout"]["mae"] == pytest.approx(as_it_is.mean())
        assert results["holdout"]["mae_se"] == pytest.approx(as_it_is.std() / np.sqrt(150))
        assert results["holdout"]["zero_one"] == pytest.approx((as_it_is > 0).mean())
        assert results["holdout"]["within_one"] == pytest.approx((as_it_is <= 1).mean())
        fresh = rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4])).fit_encoder(X)
        assert results["progressive"]["mae"] == pytest.approx(np.abs(fresh.progressive_predict(X, y) - y).mean())
        assert results["cv"]["rows"] == 150
        assert 0 < results["cv"]["mae_se"] < 0.2

    def test_weights_and_ranges_of_imprecise_labels(self, folder, model):
        test = make_frame(150, seed=1)
        options = ["--lower", "lower", "--upper", "upper", "--weight", "w"]
        found = facts("evaluate", model, folder / "test.csv", *options)
        predicted = rw.load(model).predict(test)
        ends = test[["lower", "upper"]].to_numpy()
        claims = rw.evaluation.error_range(ends, predicted, classes=[1, 2, 3, 4], sample_weight=test["w"])
        assert found["mae"] == pytest.approx(claims.lower)
        assert found["mae_at_worst"] == pytest.approx(claims.upper)
        said = succeed("evaluate", model, folder / "test.csv", *options)
        assert f"at most {claims.upper:.4f}, whatever the truth" in said

    def test_unlabelled_rows_are_left_out(self, folder, model):
        found = facts("evaluate", model, folder / "test.csv", "--label", "said")
        assert (found["rows"], found["unlabelled_rows"]) == (135, 15)


class TestCompare:
    @pytest.mark.parametrize("method", ["cv", "holdout", "progressive"])
    def test_one_table(self, folder, method):
        options = ["--label", "said", *ignored(["said"]), "--ignore", "remark", "--method", method, "--folds", 3]
        contestants = ["--estimator", "PRIL:step=pa1,C=0.1", "--estimator", "CuSumRank"]
        found = facts("compare", folder / "train.csv", *options, *contestants)
        assert [set(r) >= {"mae", "mae_se", "zero_one", "mae_at_worst"} for r in found["results"]] == [True, True]
        assert found["results"][0]["mae"] <= found["results"][1]["mae"]
        table = succeed("compare", folder / "train.csv", *options, *contestants)
        assert "PRIL:step=pa1,C=0.1" in table
        assert f"{found['results'][0]['mae']:.4f} ± {found['results'][0]['mae_se']:.4f}" in table

    def test_folds_are_those_of_the_library(self, folder):
        options = ["--label", "grade", *ignored(["grade"]), "--ignore", "remark", "--seed", 3]
        found = facts("compare", folder / "train.csv", *options, "--estimator", "SVOR")["results"][0]
        frame = make_frame()
        X, y = frame.drop(columns=[*OTHERS, "remark"]), frame["grade"].to_numpy()
        splitter = rw.evaluation.StratifiedIntervalKFold(5, shuffle=True, random_state=3)
        errors = []
        for train, test in splitter.split(X, y):
            model = rw.TableModel(rw.SVOR(classes=[1, 2, 3, 4])).fit(X.iloc[train], y[train])
            errors.append(model.evaluate(X.iloc[test], y[test])["mae"])
        assert found["mae"] == pytest.approx(np.mean(errors))
        assert found["mae_se"] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(5))


class TestConvert:
    def test_labels_and_formats(self, folder, tmp_path):
        ends = ["--lower", "lower", "--upper", "upper"]
        out = tmp_path / "texts.parquet"
        assert facts("convert", folder / "train.csv", *ends, "--to-label", "both", "-o", out)["rows"] == 300
        frame = pd.read_parquet(out)
        assert "lower" not in frame
        assert (
            frame["both"]
            .isin([str(k) for k in range(1, 5)] + [f"{a}-{b}" for a in range(1, 4) for b in range(2, 5)])
            .all()
        )
        back = tmp_path / "ends.jsonl"
        succeed("convert", out, "--label", "both", "--to-lower", "lower", "--to-upper", "upper", "-o", back)
        again = pd.read_json(back, lines=True)
        np.testing.assert_array_equal(again[["lower", "upper"]], make_frame()[["lower", "upper"]])

    def test_candidates(self, folder, tmp_path):
        options = ["--label", "said", "--classes", "1..4", "--style", "candidates"]
        succeed("convert", folder / "train.csv", *options, "-o", tmp_path / "t.csv")
        assert set(pd.read_csv(tmp_path / "t.csv")["said"][:20]) & {"2|3", "1|2", "3|4", "1|2|3", "2|3|4"}


class TestInfo:
    def test_a_model_of_a_table(self, folder, model):
        said = facts("info", model)
        assert said["estimator"] == "CumulativeLink"
        assert said["columns"] == {
            "a": "number",
            "b": "number",
            "c": "number",
            "colour": "category",
            "fresh": "boolean",
            "remark": "text",
        }
        assert said["notes"]["labels"]["label"] == "grade"
        text = succeed("info", model)
        assert "colour (category)" in text
        assert f"300 rows of {folder / 'train.csv'}" in text
