import shlex

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import rankwise as rw
from tests.cli.commands import facts, fail, make_frame, run, succeed, write

OTHERS = ["w", "lower", "upper", "grade", "said"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, seed in (("train", 0), ("test", 1), ("more", 2)):
        write(make_frame(200, seed), folder / f"{name}.csv")
    ignored = ",".join(name for name in OTHERS if name != "grade")
    options = ["--label", "grade", "--ignore", ignored, "--estimator", "PRIL"]
    succeed("fit", folder / "train.csv", *options, "--output", folder / "model")
    return folder


@pytest.mark.parametrize(
    "labels", [["--label", "grade"], ["--label", "said"], ["--lower", "lower", "--upper", "upper", "--weight", "w"]]
)
def test_the_page_is_what_python_would_make(folder, tmp_path, labels):
    page = tmp_path / "page.html"
    found = facts("report", folder / "model", folder / "test.csv", folder / "more.csv", *labels, "--output", page)
    judged = facts("evaluate", folder / "model", folder / "test.csv", folder / "more.csv", *labels)
    assert found["rows"]["judged"] == judged["rows"]
    assert found["quality"][0]["best"]["value"] == pytest.approx(judged["mae"])
    command = shlex.split(found["command"])
    assert command[:2] == ["rankwise", "report"]
    assert ["estimator", "TableEncoder → PRIL"] in found["card"]
    first = page.read_bytes()
    succeed(*command[1:])  # what the page says makes the page again
    assert page.read_bytes() == first
    model, frame = rw.load(folder / "model"), make_frame(200, 1)
    names = [line["name"] for line in found["weights"]["lines"]]
    assert set(names) <= set(model.encoder_.get_feature_names_out())
    if labels == ["--label", "grade"]:
        alone = facts("report", folder / "model", folder / "test.csv", *labels, "-o", page)
        same = rw.report.write(model, frame.drop(columns=OTHERS), frame["grade"]).facts
        assert alone["quality"] == same["quality"]
        assert alone["confusion"] == same["confusion"]


def test_it_says_what_it_did(folder, tmp_path):
    page = tmp_path / "page.html"
    said = succeed(
        "report", folder / "model", folder / "test.csv", "--lower", "lower", "--upper", "upper", "--title", "Wines",
        "--output", page,
    )  # fmt: skip
    lines = said.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["rows", "mean absolute error", "page"]
    assert " to " in lines[1]
    assert "<h1>Wines</h1>" in page.read_text(encoding="utf-8")


def test_the_command_on_the_page_reads_the_files_as_before(folder, tmp_path):
    frame = make_frame(200, 1)
    frame.to_csv(tmp_path / "test.csv", index=False, sep="|", encoding="utf-16-le")
    options = ["--separator", "|", "--encoding", "utf-16-le", "--label", "grade", "--seed", "3", "--output"]
    found = facts("report", folder / "model", tmp_path / "test.csv", *options, tmp_path / "page.html")
    first = (tmp_path / "page.html").read_bytes()
    succeed(*shlex.split(found["command"])[1:])
    assert (tmp_path / "page.html").read_bytes() == first


def test_svmlight_files(tmp_path, rng):
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5]) + 1
    dump_svmlight_file(X[:80], y[:80], str(tmp_path / "train.svm"))
    dump_svmlight_file(X[80:, :2], y[80:], str(tmp_path / "test.svm"))  # the last feature is zero throughout
    succeed("fit", tmp_path / "train.svm", "--estimator", "PRIL", "--output", tmp_path / "model")
    found = facts("report", tmp_path / "model", tmp_path / "test.svm", "--output", tmp_path / "page.html")
    assert found["rows"]["judged"] == 40


class TestBadRows:
    @pytest.fixture
    def bad(self, tmp_path):
        frame = make_frame(50, 3)
        frame["a"] = frame["a"].astype(object)
        frame.loc[7, "a"] = "many"
        return write(frame, tmp_path / "bad.csv")

    def test_one_stops_the_run_and_leaves_no_page(self, folder, bad, tmp_path):
        page = tmp_path / "page.html"
        message = fail(1, "report", folder / "model", bad, "--label", "grade", "--output", page)
        assert "bad.csv" in message
        assert "row 8" in message
        assert not page.exists()

    def test_they_are_counted_where_they_are_skipped(self, folder, bad, tmp_path):
        options = ["--label", "grade", "--on-error", "skip", "--output", tmp_path / "page.html"]
        found = facts("report", folder / "model", bad, *options)
        assert found["skipped"] == 1
        assert found["rows"]["all"] == 49

    def test_a_label_that_the_model_does_not_know(self, folder, tmp_path):
        frame = make_frame(50, 3)
        frame.loc[9, "grade"] = 77
        write(frame, tmp_path / "bad.csv")
        page = tmp_path / "page.html"
        message = fail(1, "report", folder / "model", tmp_path / "bad.csv", "--label", "grade", "--output", page)
        assert "row 10" in message
        assert "77" in message

    def test_a_number_that_no_model_can_take(self, tmp_path, rng):
        X = rng.normal(size=(40, 2))
        rw.save(rw.PRIL(random_state=0).fit(X, np.digitize(X[:, 0], [0.0]) + 1), tmp_path / "model")
        frame = make_frame(40, 3)[["a", "c", "grade"]]
        frame.loc[5, "c"] = np.inf
        write(frame.assign(grade=1), tmp_path / "bad.parquet")
        options = ["--label", "grade", "--output", tmp_path / "page.html"]
        assert "row 6" in fail(1, "report", tmp_path / "model", tmp_path / "bad.parquet", *options)


def test_wrong_usage(folder, tmp_path):
    known = ["report", folder / "model", folder / "test.csv"]
    assert "where are the labels?" in fail(2, *known, "--output", tmp_path / "page.html")
    assert "no directory" in fail(2, *known, "--label", "grade", "--output", tmp_path / "no" / "page.html")
    assert "'grad'" in fail(2, *known, "--label", "grad", "--output", tmp_path / "page.html")
    assert run(*known, "--label", "grade").exit_code == 2  # --output is missing
    assert list(tmp_path.iterdir()) == []
