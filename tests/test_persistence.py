"""Model files: what is refused, and that nothing is lost on the way."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as to_safetensors

import rankwise as rw
from rankwise import persistence
from rankwise.persistence import ModelFileError


@pytest.fixture
def model():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    return rw.PRIL(random_state=0, classes=["bad", "fair", "good"]).fit(X, ["bad", "fair", "good", "good"])


@pytest.fixture
def path(model, tmp_path):
    rw.save(model, tmp_path / "model.rankwise")
    return tmp_path / "model.rankwise"


def test_round_trip_keeps_parameters_classes_and_model(model, path):
    copy = rw.load(path)
    assert copy.get_params() == model.get_params()
    assert copy.classes_.tolist() == ["bad", "fair", "good"]
    np.testing.assert_array_equal(copy.coef_, model.coef_)
    assert copy.n_iter_ == model.n_iter_
    assert copy.predict([[5.0]]).tolist() == ["good"]


@pytest.mark.parametrize(
    "classes",
    [[1, 2, 3], [1.5, 2.5, 4.0], ["a", "b"], np.array([3, 2, 1]), (1, 2), [False, True], ["é", "<script>", "漢"]],
)
def test_classes_of_every_type_survive(classes, tmp_path):
    model = rw.PRank(classes=classes).fit([[0.0], [1.0]], [classes[0], classes[1]])
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    assert copy.classes_.tolist() == model.classes_.tolist()
    assert copy.classes_.dtype == model.classes_.dtype
    assert copy.predict([[1.0]]).tolist() == model.predict([[1.0]]).tolist()


def test_stream_models_keep_learning_new_names_and_classes(tmp_path):
    model = rw.PRIL()
    model.learn_one({("tuple", 1): 1.0, "text": 2.0, 7: 1.0}, 3)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    copy.learn_one({"more": 1.0}, 4)
    assert copy.classes_.tolist() == [3, 4]
    assert copy.n_features_in_ == 4


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 100, -1])
def test_truncated_files_are_refused(path, cut):
    content = path.read_bytes()
    path.write_bytes(content[:cut])
    with pytest.raises(ModelFileError, match=r"model\.rankwise is no model file, or a damaged one"):
        rw.load(path)


def test_every_altered_byte_is_noticed(model, path):
    content = path.read_bytes()
    for position in range(len(content)):
        for flip in (0x01, 0x80):
            altered = bytearray(content)
            altered[position] ^= flip
            path.write_bytes(bytes(altered))
            with pytest.raises(ModelFileError):
                rw.load(path)


@given(content=st.binary(max_size=200))
def test_anything_else_is_refused(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("noise") / "m"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        rw.load(path)


def test_foreign_safetensors_files_are_recognised(tmp_path):
    (tmp_path / "foreign").write_bytes(to_safetensors({"weights": np.ones(3)}))
    with pytest.raises(ModelFileError, match="is a safetensors file but not a rankwise model"):
        rw.load(tmp_path / "foreign")


def _rewritten(path, change):
    """The file with a changed header and a checksum that fits it."""
    arrays, metadata = persistence._read(path)
    header = json.loads(metadata["rankwise"])
    change(header)
    text = json.dumps(header)
    path.write_bytes(to_safetensors(arrays, {"rankwise": text, "sha256": persistence._digest(text, arrays)}))


def test_files_from_a_newer_version_say_upgrade(path):
    _rewritten(path, lambda header: header.update(format=99, rankwise="9.0"))
    with pytest.raises(ModelFileError, match=r"has format 99, written by rankwise 9\.0; .* Upgrade rankwise"):
        rw.load(path)


@pytest.mark.parametrize("name", ["Unknown", "OnlineEstimator", "os.system", "__import__"])
def test_only_known_estimators_are_made(path, name):
    _rewritten(path, lambda header: header.update(estimator=name))
    with pytest.raises(ModelFileError, match="does not know"):
        rw.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.pop("parameters"),
        lambda h: h["parameters"].update(surprise=1),
        lambda h: h["model"].pop("classes"),
        lambda h: h["model"].update(classes={"array": "nowhere"}),
        lambda h: h["model"].update(state={"dict": {}}),
        lambda h: h["model"].update(features=-3),
        lambda h: h.update(parameters=5),
        lambda h: h["model"].update(classes={}),
    ],
)
def test_headers_that_make_no_sense_are_refused(path, change):
    _rewritten(path, change)
    with pytest.raises(ModelFileError):
        rw.load(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file at .*nothing"):
        rw.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (rw.KernelPRIL(kernel=lambda A, B: A @ B.T), "cannot save parameter 'kernel': .* this is a function"),
        (rw.PRIL(random_state=np.random.RandomState(0)), "cannot save parameter 'random_state': .* RandomState"),
    ],
)
def test_parameters_that_are_not_plain_are_refused_and_leave_no_file(model, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        rw.save(model.fit([[0.0], [1.0]], [1, 2]), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_unfitted_and_foreign_models_are_refused(tmp_path):
    from sklearn.linear_model import Perceptron

    with pytest.raises(ValueError, match="this PRIL is not fitted yet"):
        rw.save(rw.PRIL(), tmp_path / "m")
    with pytest.raises(TypeError, match="nothing but numbers"):
        rw.save(Perceptron(), tmp_path / "m")

    class PRIL(rw.PRIL):
        pass

    with pytest.raises(TypeError, match="nothing but numbers"):
        rw.save(PRIL().fit([[0.0], [1.0]], [1, 2]), tmp_path / "m")


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_behind(model, path, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        rw.save(model.partial_fit([[9.0]], ["bad"]), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.rankwise"]


def test_missing_directory_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*nowhere"):
        rw.save(model, tmp_path / "nowhere" / "m")


def test_saving_over_a_file_replaces_it(model, path):
    model.partial_fit([[9.0]], ["bad"])
    rw.save(model, path)
    np.testing.assert_array_equal(rw.load(path).coef_, model.coef_)


def test_saved_files_have_ordinary_permissions(path):
    plain = path.parent / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_another_process_loads_the_same_model(model, path):
    code = f"import rankwise as rw; print(rw.load({str(path)!r}).predict([[-9.0], [9.0]]).tolist())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['bad', 'good']", done.stderr
