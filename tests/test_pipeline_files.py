"""Pipelines of scikit-learn in model files: the same predictions after loading, and nothing that is not declared."""

import contextlib
import json

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as to_safetensors
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import rankwise as rw
from rankwise import persistence
from rankwise.persistence import ModelFileError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=60),
            "b": rng.normal(5, 100, size=60),
            "c": rng.choice(["x", "y", "z"], 60),
            "t": rng.choice(["a fine wine", "some dull wine", "no wine at all"], 60),
        }
    )
    return frame, np.digitize(frame["a"], [-0.5, 0.5]) + 1


NUMBERS = ["a", "b"]
PIPELINES = {
    "standard": (NUMBERS, StandardScaler()),
    "minmax": (NUMBERS, MinMaxScaler(clip=True)),
    "maxabs": (NUMBERS, MaxAbsScaler()),
    "robust": (NUMBERS, RobustScaler()),
    "impute": (NUMBERS, make_pipeline(SimpleImputer(strategy="median"), StandardScaler())),
    "polynomial": (NUMBERS, make_pipeline(StandardScaler(), PolynomialFeatures(2))),
    "splines": (NUMBERS, make_pipeline(SplineTransformer(n_knots=5, knots="quantile"), StandardScaler())),
    "nystroem": (NUMBERS, make_pipeline(StandardScaler(), Nystroem(n_components=5, random_state=0))),
    "one-hot": (["c"], OneHotEncoder(handle_unknown="ignore")),
    "rare": (["c"], OneHotEncoder(min_frequency=21, handle_unknown="infrequent_if_exist", drop="first")),
    "ordinal": (["c"], OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
    "tf-idf": ("t", TfidfVectorizer(ngram_range=(1, 2))),
    "counts": ("t", CountVectorizer(min_df=2)),
    "columns": (
        ["a", "b", "c", "t"],
        make_column_transformer(
            (StandardScaler(), NUMBERS),
            (OneHotEncoder(sparse_output=False), ["c"]),
            (TfidfVectorizer(), "t"),
            remainder="drop",
        ),
    ),
    "the rest scaled": (NUMBERS, make_column_transformer((StandardScaler(), ["a"]), remainder=MinMaxScaler())),
    "a constant column in splines": (NUMBERS, make_pipeline(PolynomialFeatures(2), SplineTransformer())),
    "passed on": (NUMBERS, make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")),
}


@pytest.mark.parametrize(("columns", "before"), PIPELINES.values(), ids=PIPELINES)
def test_the_same_predictions_after_loading(columns, before, data, tmp_path):
    X, y = data[0][columns], data[1]
    model = make_pipeline(before, rw.SVOR(alpha=0.1)).fit(X, y)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    assert type(copy) is type(model)
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert copy[0].get_params().keys() == model[0].get_params().keys()
    rw.save(copy, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    if columns != "t":
        whole = rw.TableModel(rw.SVOR(alpha=0.1), before).fit(X, y)
        rw.save(whole, tmp_path / "m")
        np.testing.assert_array_equal(rw.load(tmp_path / "m").predict(X), whole.predict(X))


FRAMES = {
    "columns": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(sparse_output=False), ["c"])),
        MaxAbsScaler(),
        rw.SVOR(),
    ),
    "short names": lambda: make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(), ["c"]), remainder=make_pipeline(SimpleImputer(), RobustScaler()),
            verbose_feature_names_out=False,
        ),
        Nystroem(n_components=5, random_state=0),
        rw.SVOR(),
    ),
    "an encoder": lambda: make_pipeline(rw.TableEncoder(), rw.OnlineScaler(), rw.SVOR()),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["default", "pandas", "polars"])
@pytest.mark.parametrize("name", FRAMES)
def test_transformers_that_put_out_frames_do_so_after_loading(name, kind, data, tmp_path):
    X, y = data[0][["a", "b", "c"]], data[1]
    model = FRAMES[name]().set_output(transform=kind).fit(X, y)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))  # no warning of names
    for k in (1, 2):
        assert type(copy[:k].transform(X)) is type(model[:k].transform(X))
        assert list(copy[:k].get_feature_names_out()) == list(model[:k].get_feature_names_out())
    rw.save(copy, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    model = rw.TableModel(rw.SVOR(), model[0]).fit(X, y)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    copy.fit(X, y)  # the parameter, too, puts out frames
    assert type(copy.encoder_.transform(X)) is type(model.encoder_.transform(X))


def test_an_output_of_no_kind_is_refused(data, tmp_path):
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), rw.SVOR()).fit(data[0][NUMBERS], data[1])
    for change in (
        lambda h, a: step(h, 0).update(output="sys"),
        lambda h, a: step(h, 0).update(output={"list": []}),
        lambda h, a: step(h, 1).update(output="pandas"),
    ):
        rw.save(model, tmp_path / "m")
        forged(tmp_path / "m", change)
        with pytest.raises(ModelFileError, match="no output"):
            rw.load(tmp_path / "m")


def test_the_best_of_a_search(data, tmp_path):
    X, y = data[0][NUMBERS], data[1]
    search = GridSearchCV(make_pipeline(StandardScaler(), rw.SVOR()), {"svor__alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    rw.save(search, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    assert copy[-1].alpha == search.best_params_["svor__alpha"]
    np.testing.assert_array_equal(copy.predict(X), search.predict(X))


@pytest.mark.parametrize(
    ("before", "named"),
    [(PCA(2), "PCA"), (FunctionTransformer(np.abs), "ufunc"), (SimpleImputer(add_indicator=True), "MissingIndicator")],
)
def test_others_are_named(before, named, data, tmp_path):
    X, y = data[0][NUMBERS].to_numpy().copy(), data[1]
    X[::5, 0] = np.nan if named == "MissingIndicator" else 0.0
    model = make_pipeline(before, StandardScaler(), rw.SVOR()).fit(X, y)
    with pytest.raises((ValueError, TypeError), match=named):
        rw.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="not fitted yet"):
        rw.save(make_pipeline(StandardScaler(), rw.SVOR()), tmp_path / "m")


def forged(path, change):
    arrays, metadata = persistence._read(path)
    header = json.loads(metadata["rankwise"])
    change(header, arrays)
    text = json.dumps(header)
    path.write_bytes(to_safetensors(arrays, {"rankwise": text, "sha256": persistence._digest(text, arrays)}))


def step(header, k):
    """The k-th fitted step of a pipeline in a header."""
    return header["model"]["steps"]["list"][k]["tuple"][1]["part"]


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: step(h, 0).update(estimator="FunctionTransformer", parameters={}, model={}),
        lambda h, a: step(h, 0).update(estimator="os.system"),
        lambda h, a: step(h, 0)["model"].update(transform="x"),
        lambda h, a: step(h, 0)["model"].update(__class__="x"),
        lambda h, a: step(h, 0)["model"].pop("mean_"),
        lambda h, a: step(h, 0)["model"].update(mean_=3),
        lambda h, a: step(h, 0)["model"].update(n_features_in_=-1),
        lambda h, a: step(h, 0)["parameters"].update(surprise=1),
        lambda h, a: step(h, 0).pop("model"),
        lambda h, a: step(h, 1)["model"].pop("weights", None) or step(h, 1)["model"].clear(),
        lambda h, a: h["model"].update(steps={"list": []}),
        lambda h, a: h["model"].update(steps={"dict": {"pairs": {"list": []}}}),
        lambda h, a: h["model"].update(steps={"dict": {"type": "eval"}}),
        lambda h, a: a.update({k: v[:1] if v.ndim == 1 and v.size == 2 else v for k, v in a.items()}),
    ],
)
def test_forged_files_are_refused(change, data, tmp_path):
    X, y = data[0][NUMBERS].to_numpy(), data[1]
    rw.save(make_pipeline(StandardScaler(), rw.SVOR(alpha=0.1)).fit(X, y), tmp_path / "m")
    forged(tmp_path / "m", change)
    with pytest.raises(ModelFileError):
        rw.load(tmp_path / "m").predict(X)


def named(header, name):
    """The first fitted part of a class in a header."""
    found, ahead = [], [header["model"]]
    while ahead:
        node = ahead.pop()
        if isinstance(node, dict):
            if node.get("estimator") == name and "model" in node:
                found.append(node)
            ahead.extend(node.values())
        elif isinstance(node, list):
            ahead.extend(node)
    return found[0]


@pytest.mark.parametrize(
    ("pipeline", "change"),
    [
        ("one-hot", lambda h, a: named(h, "OneHotEncoder")["model"].update(_n_features_outs={"list": [1]})),
        ("rare", lambda h, a: named(h, "OneHotEncoder")["model"].update(_infrequent_indices={"list": [None]})),
        ("rare", lambda h, a: [v.__iadd__(9) for k, v in a.items() if "infrequent" in k]),
        ("ordinal", lambda h, a: named(h, "OrdinalEncoder")["model"].update(categories_={"list": [{"objects": []}]})),
        ("polynomial", lambda h, a: named(h, "PolynomialFeatures")["model"].update(_n_out_full=10**9)),
        ("polynomial", lambda h, a: named(h, "PolynomialFeatures")["parameters"].update(degree=10**9)),
        ("splines", lambda h, a: named(h, "SplineTransformer")["parameters"].update(degree=1.5)),
        ("splines", lambda h, a: named(h, "SplineTransformer")["model"].update(n_features_out_=10**9)),
        ("nystroem", lambda h, a: named(h, "Nystroem")["parameters"].update(kernel="x")),
        ("minmax", lambda h, a: named(h, "MinMaxScaler")["parameters"].update(feature_range={"tuple": [0]})),
        ("standard", lambda h, a: named(h, "StandardScaler")["model"].update(mean_=None)),
        ("tf-idf", lambda h, a: named(h, "TfidfVectorizer")["parameters"].update(input="filename")),
        ("tf-idf", lambda h, a: named(h, "TfidfVectorizer")["parameters"].update(ngram_range={"tuple": [1]})),
        ("counts", lambda h, a: named(h, "CountVectorizer")["parameters"].update(tokenizer={"list": []})),
        ("counts", lambda h, a: named(h, "CountVectorizer")["parameters"].update(token_pattern="(")),
        ("columns", lambda h, a: named(h, "ColumnTransformer")["model"]["transformers_"]["list"].pop()),
        ("columns", lambda h, a: named(h, "ColumnTransformer")["model"].update(feature_names_in_={"objects": [1]})),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(pipeline, change, data, tmp_path):
    """scikit-learn trusts these: it would read past arrays, fill the memory, open files, or fail in its own words."""
    columns, before = PIPELINES[pipeline]
    rw.save(make_pipeline(clone(before), rw.SVOR(alpha=0.1)).fit(data[0][columns], data[1]), tmp_path / "m")
    forged(tmp_path / "m", change)
    with pytest.raises(ModelFileError, match="does not describe a Pipeline that can exist"):
        rw.load(tmp_path / "m")


def test_steps_that_make_other_features_are_refused(data, tmp_path):
    X, y = data[0][NUMBERS], data[1]
    narrow = make_pipeline(StandardScaler(), rw.SVOR(alpha=0.1)).fit(X[["a"]], y)
    wide = make_pipeline(StandardScaler(), rw.SVOR(alpha=0.1)).fit(X, y)
    rw.save(make_pipeline(narrow[0], wide[1]), tmp_path / "m")
    with pytest.raises(ModelFileError, match="do not fit together"):
        rw.load(tmp_path / "m")
    whole = rw.TableModel(rw.SVOR(alpha=0.1), StandardScaler()).fit(X, y)
    whole.encoder_ = narrow[0]
    rw.save(whole, tmp_path / "m")
    with pytest.raises(ModelFileError, match="another number of features"):
        rw.load(tmp_path / "m")


def test_the_cache_of_a_pipeline_is_not_saved(data, tmp_path):
    X, y = data[0][NUMBERS], data[1]
    model = make_pipeline(StandardScaler(), rw.SVOR(alpha=0.1), memory=str(tmp_path / "cache")).fit(X, y)
    rw.save(model, tmp_path / "m")
    assert rw.load(tmp_path / "m").memory is None


def test_small_changes_anywhere_are_refused_or_harmless(data, tmp_path):
    """Values of the header exchanged for others: a clear error when loading, or a model that answers or refuses."""
    X, y = data[0], data[1]
    before = PIPELINES["columns"][1]
    rw.save(make_pipeline(before, rw.SVOR(alpha=0.1)).fit(X, y), tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    rng = np.random.default_rng(0)
    strange = [None, -1, 10**9, "x", {"list": []}, {"float": "nan"}, {"dict": {"type": "float64"}}, True]
    refused = 0
    for _ in range(150):
        (tmp_path / "m").write_bytes(content)

        def change(header, arrays):
            node = header["model"]
            while True:
                keys = list(node) if isinstance(node, dict) else list(range(len(node)))
                key = keys[rng.integers(len(keys))]
                if not isinstance(node[key], (dict, list)) or not node[key] or rng.random() < 0.1:
                    node[key] = strange[rng.integers(len(strange))]
                    return
                node = node[key]

        forged(tmp_path / "m", change)
        try:
            model = rw.load(tmp_path / "m")
        except ModelFileError:
            refused += 1
            continue
        with contextlib.suppress(ValueError, TypeError, AttributeError, IndexError, KeyError):
            assert len(model.predict(X)) == 60
    assert refused > 50
