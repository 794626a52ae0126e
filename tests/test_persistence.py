"""Model files: what is refused, and that nothing is lost on the way."""

import functools
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as to_safetensors
from scipy import sparse

import rankwise as rw
from rankwise import persistence
from rankwise._registry import SAVED
from rankwise.features import foreign
from rankwise.persistence import ModelFileError
from tests.attack import forge


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


@pytest.mark.parametrize("version", [0, -1, "x", "1", 2.5, 1.0, True, None, [1], {}])
def test_formats_that_do_not_exist_are_refused(path, version):
    _rewritten(path, lambda header: header.update(format=version))
    with pytest.raises(ModelFileError, match="has no format that exists: "):
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


def _forged(path, model, change, **arrays):
    """A file of a model with a changed header and some other arrays, and a checksum that fits."""
    rw.save(model, path)
    found, metadata = persistence._read(path)
    header = json.loads(metadata["rankwise"])
    change(header)
    text = json.dumps(header)
    found |= {name.replace("_of_", ":"): array for name, array in arrays.items()}
    path.write_bytes(to_safetensors(found, {"rankwise": text, "sha256": persistence._digest(text, found)}))
    return path


@functools.cache
def _fitted():
    """Every estimator of ours that a file can hold."""
    return {
        f"{victim.name} {i}": victim.model for i, victim in enumerate(_victims()) if hasattr(victim.model, "to_plain")
    }


@functools.cache
def _victims():
    return forge.victims()


def test_every_estimator_that_can_be_saved_is_forged():
    assert {type(model).__name__ for model in _fitted().values()} == set(SAVED)
    tables = [model for model in _fitted().values() if isinstance(model, rw.TableModel)]
    pipelines = [victim.model for victim in _victims() if not hasattr(victim.model, "to_plain")]
    text = "".join(persistence.to_bytes(model).decode("latin-1") for model in [*pipelines, *tables])
    assert [name for name in foreign.KNOWN if f'estimator\\": \\"{name}' not in text] == []


def test_declared_sizes_take_no_memory_before_they_are_checked(tmp_path):
    """30 million features took 3.4 GB of a file of 1.3 kB."""
    for name, model in _fitted().items():
        if "features" not in model.to_plain():  # of models made of parts, the parts have it
            continue

        def change(header):
            header["model"]["features"] = 30_000_000

        path = _forged(tmp_path / "m", model, change)
        tracemalloc.start()
        try:
            rw.load(path)
            refused = False
        except ModelFileError:
            refused = True
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2_000_000, name
        # Sparse support vectors fit any width; whatever else has an array with a place for every feature.
        assert refused or sparse.issparse(model.support_vectors_), name


def test_many_classes_take_no_square_of_memory(tmp_path):
    X, y = [np.eye(3)], [[0, 1, 2]]
    for model in (rw.ChainClassifier(tol=0.1).fit(X, y), rw.PiecewiseMORD(cuts=3).fit(np.eye(3), [0, 1, 2])):

        def change(header):
            header["parameters"]["cuts" if "cuts" in header["parameters"] else "classes"] = 100_000

        wide = {"model_of_classes": np.arange(100_000), "model_of_offsets": np.zeros(100_000)}
        path = _forged(tmp_path / "m", model, change, **wide, model_of_weights=np.zeros(300_000))
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            rw.load(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 60_000_000


def test_arrays_without_entries_cannot_claim_a_length(model, tmp_path):
    path = _forged(tmp_path / "m", model, lambda header: None, model_of_state_of_w=np.zeros((0, 2**40)))
    with pytest.raises(ModelFileError, match=r"array 'model:state:w' of shape \[0, 1099511627776\] in a file of"):
        rw.load(path)


def test_a_few_long_strings_among_many_are_no_bomb(tmp_path):
    texts = ["x" * 100_000, *(str(i) for i in range(100_000))]
    model = rw.PRIL(classes=["a", "b"]).fit([[0.0], [1.0]], ["a", "b"])

    def change(header):
        header["model"]["classes"]["objects"] = texts

    with pytest.raises(ModelFileError, match="100001 texts of up to 100000 characters"):
        rw.load(_forged(tmp_path / "m", model, change))

    def change_parameter(header):
        header["parameters"]["classes"] = {"list": texts}

    with pytest.raises(ModelFileError, match="100001 texts of up to 100000 characters"):
        rw.load(_forged(tmp_path / "m", model, change_parameter))


def test_two_arrays_do_not_share_their_memory(path):
    def change(header):
        header["model"]["state"]["dict"]["w_lag"] = header["model"]["state"]["dict"]["w"]

    _rewritten(path, change)
    with pytest.raises(ModelFileError, match="it has no 'model:state:w'"):
        rw.load(path)


@pytest.mark.parametrize("depth", [400, 2_000, 100_000])
def test_nesting_has_an_end(path, depth):
    for text in ("[" * depth + "]" * depth, '{"list":[' * depth + "]}" * depth):
        arrays, metadata = persistence._read(path)
        text = metadata["rankwise"].replace('"shuffle": true', f'"shuffle": {text}')
        digest = persistence._digest(text, arrays)
        path.with_suffix(".deep").write_bytes(to_safetensors(arrays, {"rankwise": text, "sha256": digest}))
        with pytest.raises(ModelFileError):
            rw.load(path.with_suffix(".deep"))


@pytest.mark.parametrize(
    ("model", "change", "arrays"),
    [
        ("MultiplicativePRIL", None, {"model_of_state_of_S": np.zeros(2)}),
        ("MultiplicativePRIL", None, {"model_of_state_of_w": np.zeros(30)}),
        ("PRIL", None, {"model_of_state_of_w": np.full(3, np.nan)}),
        ("CuSumRank", None, {"model_of_state_of_W": np.full((3, 4), np.inf)}),
        ("KernelPRIL", None, {"model_of_state_of_support": np.full((3, 24), np.nan)}),
        ("KernelPRIL", None, {"model_of_state_of_size": np.array([10**6])}),
        ("LabelRanker", None, {"model_of_state_of_counts": np.array([1, 1, 1, -1, 0, 0])}),
        ("LabelRanker", None, {"model_of_state_of_counts": np.array([1, 1, 1, 10**9, 0, 0])}),
        ("SVOR", lambda h: h["model"].update(certificate={"list": [{"float": "nan"}, 0.0, 1]}), {}),
        ("SVOR", lambda h: h["model"].update(certificate={"list": [1.0, 0.0, {"float": "inf"}]}), {}),
        ("SVOR", lambda h: h["model"].update(certificate={"list": ["x", 0.0, 1]}), {}),
        ("PRIL", lambda h: h["model"].update(n_iter="many"), {}),
        ("PRIL", lambda h: h["model"].update(features={"list": ["a", "a", "b"]}), {}),
        ("PRIL", lambda h: h["model"].update(features="abc"), {}),
        ("PRIL", lambda h: h["model"].update(features=True), {}),
        ("PRIL", lambda h: h["model"].update(features=10**400), {}),
        ("SVOR", lambda h: h["model"].update(features={"list": [1, 2, 3]}), {}),
        ("PRIL", lambda h: h["model"].update(state=7), {}),
        ("PRIL", lambda h: h["model"]["state"]["dict"].update(w=7), {}),
        ("PRIL", lambda h: h["model"].update(classes="ab"), {}),
        ("MissingLabelClassifier", lambda h: h["model"].update(classes="ab"), {}),
        ("TableModel", lambda h: h["parameters"].update(estimator=None), {}),
        ("TableModel", lambda h: h["model"].update(estimator=None), {}),
        ("TableModel", lambda h: h["model"]["estimator"]["part"].pop("model"), {}),
        ("CalibratedOrdinal", lambda h: h["model"]["estimator"]["part"].pop("model"), {}),
        ("ConformalOrdinal", lambda h: h["model"]["estimator"]["part"].pop("model"), {}),
        ("OnlineConformalOrdinal", lambda h: h["model"]["estimator"]["part"].pop("model"), {}),
        ("TableEncoder", lambda h: h["model"]["columns"]["list"][1]["dict"].update(hashed="yes"), {}),
        ("TableEncoder", lambda h: h["model"]["columns"]["list"][0]["dict"].update(shift={"float": "nan"}), {}),
    ],
)
def test_states_that_kernels_could_not_trust_are_refused(model, change, arrays, tmp_path):
    found = next(each for name, each in _fitted().items() if name.split()[0] == model)
    path = _forged(tmp_path / "m", found, change or (lambda header: None), **arrays)
    with pytest.raises(ModelFileError, match=f"does not describe a {model} that can exist: "):
        rw.load(path)


def test_sparse_support_vectors_that_share_entries_are_refused(tmp_path):
    X = sparse.csr_matrix(np.eye(4))
    model = rw.KernelPRIL(n_epochs=1, random_state=0).fit(X, [0, 1, 2, 0])
    stop = model._state["support_stop"].copy()
    stop[:] = model._state["support_used"][0]
    start = {"model_of_state_of_support_start": np.zeros_like(stop), "model_of_state_of_support_stop": stop}
    with pytest.raises(ModelFileError, match="the sparse support arrays do not hold"):
        rw.load(_forged(tmp_path / "m", model, lambda header: None, **start))
    data = {"model_of_state_of_support_data": np.full_like(model._state["support_data"], np.nan)}
    with pytest.raises(ModelFileError, match="'support_data' holds a number that is not finite"):
        rw.load(_forged(tmp_path / "m", model, lambda header: None, **data))


def test_numbers_that_are_no_json_are_refused(path):
    arrays, metadata = persistence._read(path)
    for name in ("NaN", "Infinity"):
        text = metadata["rankwise"].replace('"C": 1.0', f'"C": {name}')
        assert text != metadata["rankwise"]
        path.write_bytes(to_safetensors(arrays, {"rankwise": text, "sha256": persistence._digest(text, arrays)}))
        with pytest.raises(ModelFileError, match="its header cannot be read"):
            rw.load(path)


def test_arrays_of_types_that_no_model_has_are_refused(path):
    content = path.read_bytes().replace(b'"dtype":"F64"', b'"dtype":"I64"')
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        rw.load(path)


def test_messages_stay_short_whatever_the_file_holds(path):
    _rewritten(path, lambda header: header.update(estimator="x" * 10**6))
    with pytest.raises(ModelFileError) as caught:
        rw.load(path)
    assert len(str(caught.value)) < 1000 + len(str(path))


# -- many names --------------------------------------------------------------------------------------------------------


def test_long_texts_are_arrays_and_short_ones_stay_where_older_versions_find_them(tmp_path, monkeypatch):
    model = rw.PRIL()
    for i in range(50):
        model.learn_one({f"name {i}": 1.0, ("tuple", i): 0.5, "é": 1.0, 10**30 + i: 2.0}, i % 3)
    rw.save(model, tmp_path / "short", notes={"rows": 50})
    monkeypatch.setattr(persistence, "_LONGEST_TEXT", 100)
    rw.save(model, tmp_path / "long", notes={"rows": 50})
    formats = [json.loads(persistence._read(tmp_path / name)[1]["rankwise"])["format"] for name in ("short", "long")]
    assert formats == [1, 2]
    for name in ("short", "long"):
        copy = rw.load(tmp_path / name)
        assert copy._features.names() == model._features.names()
        np.testing.assert_array_equal(copy.coef_, model.coef_)
        assert persistence.read_notes(tmp_path / name) == {"rows": 50}


@pytest.mark.slow
def test_names_beyond_the_limit_of_a_header_are_kept(tmp_path):
    """A header of safetensors ends at 100 MB."""
    names = [f"{i:0500d}" for i in range(220_000)]
    model = rw.PRIL(classes=[0, 1])
    model.learn_one(dict.fromkeys(names, 1.0), 1)
    rw.save(model, tmp_path / "m")
    assert rw.load(tmp_path / "m")._features.names() == names


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"{", b"[" * 10**5])
def test_long_texts_that_make_no_sense_are_refused(path, monkeypatch, content):
    monkeypatch.setattr(persistence, "_LONGEST_TEXT", 10)
    rw.save(rw.load(path), path)
    arrays, metadata = persistence._read(path)
    for change in ({"header": np.frombuffer(content, dtype=np.uint8)}, {}):
        forged = {**{k: v for k, v in arrays.items() if k != "header"}, **change}
        digest = persistence._digest(metadata["rankwise"], forged)
        path.write_bytes(to_safetensors(forged, {**metadata, "sha256": digest}))
        with pytest.raises(ModelFileError, match=r"is no model file, or a damaged one|its header cannot be read"):
            rw.load(path)


def test_keys_that_hold_colons_keep_their_arrays_apart(model, tmp_path):
    notes = {"a:b": np.arange(3), "a": {"b": np.arange(4)}}
    rw.save(model, tmp_path / "m", notes=notes)
    found = persistence.read_notes(tmp_path / "m")
    assert (found["a:b"].size, found["a"]["b"].size) == (3, 4)


def test_labels_that_are_tuples_survive(tmp_path):
    model = rw.LabelRanker(random_state=0)
    model.learn_one({"x": 1.0}, {("a", 1), ("b", 2)})
    model.learn_one({"x": 1.0}, {("c", 3)})
    rw.save(model, tmp_path / "m")
    assert rw.load(tmp_path / "m").classes_.tolist() == model.classes_.tolist()


def test_a_ranker_keeps_its_average_when_it_is_switched_off(tmp_path):
    X, y = np.eye(3), [["a"], ["b"], ["a", "c"]]
    for before, after in ((True, False), (False, True)):
        model = rw.LabelRanker(random_state=0, average=before).fit(X, y).set_params(average=after)
        rw.save(model, tmp_path / "m")
        copy = rw.load(tmp_path / "m")
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(copy.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


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


@pytest.mark.parametrize("value", [np.array([["a", "b"]]), np.array([[None, 1]], dtype=object)])
def test_tables_of_objects_are_refused_when_saving_and_not_when_loading(value, tmp_path):
    with pytest.raises(ValueError, match=r"cannot save note 'a': .* this is a ndarray"):
        rw.save(rw.PRank().fit([[0.0], [1.0]], [1, 2]), tmp_path / "model", notes={"a": value})
