"""``rankwise fit --workers N``: the model of the same files without a cluster."""

import pickle

import numpy as np
import pytest

pytest.importorskip("distributed")

import rankwise as rw
from rankwise.dask.parts import PartitionError
from tests.cli.commands import fail, make_frame, run, write

LABELS = ("--label", "grade", "--ignore", "w,lower,upper,said")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    frame = make_frame()
    return [write(frame[:180], folder / "a.parquet"), write(frame[180:], folder / "b.parquet")]


def test_fit_on_workers_of_its_own(files, tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    # A cluster reads tables as streams do: texts are hashed, and numbers stay as they are.
    labels = ("--label", "grade", "--ignore", "w,lower,upper,said,remark")
    options = ("--estimator", "SVOR", "--set", "alpha=0.001", "--numbers", "linear")
    result = run("fit", *files, *labels, *options, "--workers", 1, "-o", there)
    assert result.exit_code == 0, result.output
    assert "rankwise: note: 1 workers, dashboard at http://" in result.stderr
    assert "proven to be within" in result.stdout
    assert "300" in result.stdout
    assert run("fit", *files, *labels, *options, "-o", here).exit_code == 0
    found, expected = rw.load(there).estimator_, rw.load(here).estimator_
    assert type(found) is rw.SVOR
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5, atol=1e-9)


def test_trees_on_workers_know_which_columns_hold_categories(files, tmp_path):
    labels = ("--label", "grade", "--ignore", "w,lower,upper,said,remark")
    options = ("--estimator", "BoostedThresholds", "--set", "max_iter=5", "--set", "early_stopping=false")
    result = run("fit", *files, *labels, *options, "--workers", 1, "-o", tmp_path / "m")
    assert result.exit_code == 0, result.output
    model = rw.load(tmp_path / "m")
    assert type(model.estimator_) is rw.BoostedThresholds
    assert model.estimator_._categorical() == model.encoder_.categorical_
    assert model.encoder_.categorical_


def test_wrong_usage_is_found_before_any_cluster(files, tmp_path):
    there = ("fit", *files, *LABELS, "-o", tmp_path / "m")
    assert "either at --dask ADDRESS or of --workers N" in fail(
        2, *there, "--workers", 1, "--dask", "tcp://127.0.0.1:1"
    )
    assert "KernelPRIL does not learn on a cluster" in fail(2, *there, "--workers", 1, "--estimator", "KernelPRIL")
    wrong = fail(2, *there, "--workers", 1, "--estimator", "PRIL", "--set", "mode=fast")
    assert "'mode' parameter of PRIL must be" in wrong
    assert "CumulativeLink has no parameter 'mode'" in fail(2, *there, "--workers", 1, "--set", "mode=mixing")


def test_an_error_on_a_worker_names_the_file(files, tmp_path):
    ends = ("--lower", "lower", "--upper", "upper", "--ignore", "w,grade,said", "--classes", "1..4")
    result = run("fit", *files, *ends, "--estimator", "PRank", "--workers", 1, "-o", tmp_path / "m")
    assert result.exit_code == 1
    error = result.stderr.splitlines()[-1]
    assert error.startswith(f"rankwise: error: file {files[0]}: row ")
    assert "PRank does not learn from interval labels" in error
    named = pickle.loads(pickle.dumps(PartitionError(3, "row 0: too large")))
    assert (named.partition, named.complaint, str(named)) == (3, "row 0: too large", "partition 3: row 0: too large")


def test_no_scheduler_at_the_address(files, tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.cli._cluster._CONNECT", "1s")
    message = fail(1, "fit", *files, *LABELS, "--dask", "tcp://127.0.0.1:1", "-o", tmp_path / "m")
    assert "there is no Dask scheduler at tcp://127.0.0.1:1" in message
    assert not (tmp_path / "m").exists()
