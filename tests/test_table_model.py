"""An encoder and an estimator as one model: learning, files, and that nothing is lost between."""

import json

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as to_safetensors
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise as rw
from rankwise import persistence
from rankwise.persistence import ModelFileError

ONLINE = [
    rw.PRIL(),
    rw.PRIL(step="pa1", C=0.5),
    rw.PRank(),
    rw.MultiplicativePRIL(),
    rw.KernelPRIL(budget=20),
    rw.CuSumRank(),
    rw.KernelCuSumRank(budget=20),
    rw.WidrowHoff(),
    rw.MulticlassPerceptron(),
    rw.ImportanceWeightedPerceptron(),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "weight": rng.normal(5, 2, size=n),
            "colour": rng.choice(["red", "blue", "green"], size=n),
            "fresh": rng.random(n) < 0.5,
        }
    )
    grade = np.digitize(frame["size"] + (frame["colour"] == "red") + 0.1 * rng.normal(size=n), [-0.5, 0.5, 1.0]) + 1
    frame.loc[rng.random(n) < 0.1, "weight"] = np.nan
    return frame, grade


@pytest.mark.parametrize("estimator", [rw.CumulativeLink(), rw.ConformalOrdinal(rw.CumulativeLink(), level=0.8)])
def test_intervals_have_the_level_of_the_estimator(estimator, data):
    X, y = data
    model = rw.TableModel(estimator).fit(X, y)
    expected = model.estimator_.predict_interval(model.encoder_.transform(X))
    np.testing.assert_array_equal(model.predict_interval(X), expected)


@pytest.mark.parametrize("estimator", [rw.SVOR(), rw.PRIL(random_state=0), rw.CuSumRank(random_state=0)])
def test_is_the_encoder_and_the_estimator_in_a_row(estimator, data):
    X, y = data
    model = rw.TableModel(estimator).fit(X[:300], y[:300])
    encoder = rw.TableEncoder().fit(X[:300])
    expected = clone(estimator).fit(encoder.transform(X[:300]), y[:300])
    np.testing.assert_array_equal(model.predict(X[300:]), expected.predict(encoder.transform(X[300:])))
    assert model.score(X[300:], y[300:]) == expected.score(encoder.transform(X[300:]), y[300:])
    found = model.evaluate(X[300:], y[300:])
    assert found["mae"] == -model.score(X[300:], y[300:])
    assert 0 < found["zero_one"] <= 1 - found["within_one"] + found["zero_one"]
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == X.columns.tolist()


def test_estimators_of_scikit_learn_learn_from_raw_columns(data):
    X, y = data
    model = rw.TableModel(LogisticRegression())
    with pytest.raises(NotFittedError):
        model.predict(X)
    rows = rw.TableEncoder().fit_transform(X)
    expected = LogisticRegression().fit(rows, y)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected.predict(rows))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(rows))
    assert model.classes_.tolist() == [1, 2, 3, 4]
    assert model.score(X, y) == expected.score(rows, y)
    stream = rw.TableModel(Perceptron()).partial_fit(X, y, classes=[1, 2, 3, 4])
    assert stream.evaluate(X, y)["mae"] < 1


@pytest.mark.parametrize("estimator", ONLINE, ids=str)
def test_a_file_in_the_middle_of_a_stream_changes_nothing(estimator, data, tmp_path):
    X, y = data
    one = rw.TableModel(estimator).fit_encoder(X[:100])
    for start in range(0, 400, 50):
        one.partial_fit(X[start : start + 50], y[start : start + 50], classes=[1, 2, 3, 4])
    other = rw.TableModel(estimator).fit_encoder(X[:100])
    for start in range(0, 400, 80):
        other.partial_fit(X[start : start + 80], y[start : start + 80], classes=[1, 2, 3, 4])
        rw.save(other, tmp_path / "m")
        other = rw.load(tmp_path / "m")
    rw.save(one, tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "m").read_bytes()


def test_progressive_predictions_are_those_of_the_estimator(data):
    X, y = data
    model = rw.TableModel(rw.PRIL()).fit_encoder(X)
    found = model.progressive_predict(X, y, classes=[1, 2, 3, 4])
    expected = rw.PRIL().progressive_predict(rw.TableEncoder(stream=True).fit_transform(X), y, classes=[1, 2, 3, 4])
    np.testing.assert_array_equal(found, expected)


def test_the_first_chunk_fits_the_encoder_and_a_bad_one_leaves_nothing(data):
    X, y = data
    model = rw.TableModel(rw.PRIL())
    with pytest.raises(ValueError, match="the label 9 is not one of the classes"):
        model.partial_fit(X, np.full(len(X), 9), classes=[1, 2, 3, 4])
    assert not hasattr(model, "encoder_")
    model.partial_fit(X, y, classes=[1, 2, 3, 4])
    assert model.encoder_.to_plain() == rw.TableEncoder(stream=True).fit(X).to_plain()


def test_batch_estimators_have_no_partial_fit():
    assert not hasattr(rw.TableModel(rw.SVOR()), "partial_fit")
    assert hasattr(rw.TableModel(rw.PRIL()), "partial_fit")


def test_rows_as_they_are(data):
    X = data[0][["size"]].to_numpy()
    model = rw.TableModel(rw.PRIL(random_state=0), "none").fit(X, data[1])
    np.testing.assert_array_equal(model.predict(X), rw.PRIL(random_state=0).fit(X, data[1]).predict(X))
    with pytest.raises(ValueError, match="encoder must be a TableEncoder, None or 'none'"):
        rw.TableModel(rw.PRIL(), "raw").fit(X, data[1])


@parametrize_with_checks(
    [rw.TableModel(rw.SVOR()), rw.TableModel(rw.PRIL(random_state=0))],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "scales are those of all rows, whatever their weights"
    },
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_works_in_cross_validation_and_clones(data):
    X, y = data
    model = rw.TableModel(rw.SVOR(alpha=0.01), rw.TableEncoder(scaling="minmax"))
    assert cross_val_score(model, X, y, cv=3).min() > -0.4
    assert clone(model).get_params()["encoder__scaling"] == "minmax"


class TestFile:
    @pytest.fixture
    def model(self, data):
        X, y = data
        encoder = rw.TableEncoder(indicate_missing=True, kinds={"fresh": "category"})
        return rw.TableModel(rw.SVOR(alpha=0.01), encoder).fit(X[:60], y[:60])

    @pytest.fixture
    def path(self, model, tmp_path):
        rw.save(model, tmp_path / "m", notes={"rows": 60, "files": ["a.csv"]})
        return tmp_path / "m"

    def test_round_trip(self, model, path, data):
        copy = rw.load(path)
        assert copy.encoder.get_params() == model.encoder.get_params()
        assert copy.estimator.get_params() == model.estimator.get_params()
        np.testing.assert_array_equal(copy.predict(data[0]), model.predict(data[0]))
        assert persistence.read_notes(path) == {"rows": 60, "files": ["a.csv"]}

    def test_the_default_encoder_and_none(self, data, tmp_path):
        for encoder in (None, "none"):
            X = data[0][["size"]]
            model = rw.TableModel(rw.SVOR(), encoder).fit(X, data[1])
            rw.save(model, tmp_path / "m")
            copy = rw.load(tmp_path / "m")
            assert copy.encoder == encoder
            np.testing.assert_array_equal(copy.predict(X), model.predict(X))

    def test_every_altered_byte_is_noticed(self, path):
        content = path.read_bytes()
        for position in range(len(content)):
            altered = bytearray(content)
            altered[position] ^= 0x01 if position % 2 else 0x80
            path.write_bytes(bytes(altered))
            with pytest.raises(ModelFileError):
                rw.load(path)

    @pytest.mark.parametrize(
        "change",
        [
            lambda h: h["model"]["encoder"]["part"].update(estimator="os.system"),
            lambda h: h["model"]["encoder"]["part"].pop("model"),
            lambda h: h["model"]["encoder"]["part"]["model"]["columns"]["list"].pop(),
            lambda h: h["model"].update(encoder=None),
            lambda h: h["model"].update(encoder=h["model"]["estimator"]),
            lambda h: h["model"].update(estimator=5),
            lambda h: h["parameters"].update(estimator="SVOR"),
            lambda h: h["parameters"]["estimator"]["part"]["parameters"].update(surprise=1),
        ],
    )
    def test_parts_that_make_no_sense_are_refused(self, path, change):
        arrays, metadata = persistence._read(path)
        header = json.loads(metadata["rankwise"])
        change(header)
        text = json.dumps(header)
        path.write_bytes(to_safetensors(arrays, {"rankwise": text, "sha256": persistence._digest(text, arrays)}))
        with pytest.raises(ModelFileError):
            rw.load(path)

    def test_parts_that_cannot_be_saved(self, data, tmp_path):
        model = rw.TableModel(Perceptron()).fit(*data)
        with pytest.raises(ValueError, match=r"cannot save parameter 'estimator': .* this is a Perceptron"):
            rw.save(model, tmp_path / "m")
        with pytest.raises(ValueError, match="this TableModel is not fitted yet"):
            rw.save(rw.TableModel(rw.PRIL()).fit_encoder(data[0]), tmp_path / "m")
        assert list(tmp_path.iterdir()) == []


def test_a_transformer_of_skrub_takes_the_encoders_place(data, tmp_path):
    skrub = pytest.importorskip("skrub")
    frame, y = data
    encoder = make_pipeline(skrub.TableVectorizer(), SimpleImputer())
    model = rw.TableModel(rw.CumulativeLink(alpha=0.01), encoder).fit(frame[:300], y[:300])
    assert model.score(frame[300:], y[300:]) > -1.0
    assert model.predict_proba(frame[300:]).shape == (len(frame) - 300, len(model.classes_))
    with pytest.raises(ValueError, match="this is a TableVectorizer"):
        rw.save(model, tmp_path / "m")


def test_a_model_without_probabilities_names_those_that_have_them():
    assert not hasattr(rw.TableModel(rw.PRIL()), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        rw.TableModel(rw.PRIL()).predict_proba  # noqa: B018
    assert "These have them: BlendedOrdinal" in str(caught.value.__cause__)


def _reference_of(model, table, y):
    return [c.reference for c in model.fit(table, y).encoder_._encoding.others]


def test_estimators_without_a_penalty_get_a_reference_level():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["blue", "red"], 80, p=[0.3, 0.7])})
    y = rng.integers(1, 4, 80)
    free = rw.CumulativeLink(alpha=0)
    encoders = {"None": None, "auto": rw.TableEncoder()}
    found = {name: _reference_of(rw.TableModel(free, encoder), table, y) for name, encoder in encoders.items()}
    assert found == {"None": ["red"], "auto": ["red"]}
    assert encoders["auto"].drop_first == "auto"
    assert _reference_of(rw.TableModel(rw.SVOR(regularize="none")), table, y) == ["red"]
    wrapped = rw.CalibratedOrdinal(free, cv=2, random_state=0)
    assert _reference_of(rw.TableModel(wrapped), table, y) == ["red"]
    mixed = rw.BlendedOrdinal([rw.CumulativeLink(), free], cv=2)
    assert _reference_of(rw.TableModel(mixed), table, y) == ["red"]
    chosen = rw.AutoOrdinal(estimators={"free": free}, encoder="none", n_fits=2, cv=2)
    assert _reference_of(rw.TableModel(chosen), table, y) == ["red"]
    assert _reference_of(rw.TableModel(rw.BlendedOrdinal([rw.CumulativeLink()], cv=2)), table, y) == [None]
    assert _reference_of(rw.TableModel(rw.CumulativeLink(alpha=0.1)), table, y) == [None]
    assert _reference_of(rw.TableModel(), table, y) == [None]
    always = rw.TableModel(rw.SVOR(), rw.TableEncoder(drop_first=True))
    assert _reference_of(always, table, y) == ["red"]


def test_a_reference_level_survives_a_file(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=400), "colour": rng.choice(["blue", "red"], 400)})
    y = np.digitize(table["size"] + rng.logistic(size=400), [-1, 1])
    model = rw.TableModel(rw.CumulativeLink(alpha=0), rw.TableEncoder(numbers="spline")).fit(table, y)
    rw.save(model, tmp_path / "model.rankwise")
    again = rw.load(tmp_path / "model.rankwise")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.encoder_.get_feature_names_out().tolist() == model.encoder_.get_feature_names_out().tolist()
