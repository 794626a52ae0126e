"""Forged model files: the file of a fitted model with a few parts replaced, and a checksum that fits.

The promise: ``load`` raises a ``ModelFileError``, or the model answers, learns and is saved, or refuses in its own
words.
"""

from __future__ import annotations

import atexit
import copy
import json
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import save as to_safetensors
from scipy import sparse
from sklearn import preprocessing
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

import rankwise as rw
from rankwise import persistence
from rankwise.trees._lightgbm_text import text_of_trees
from tests.attack.harness import FaultError, require_own

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Victim:
    """A fitted model, rows to predict and a chunk to learn from."""

    name: str
    model: Any
    X: Any
    y: Any


def victims(every: int = 1) -> list[Victim]:
    """Every estimator that a file can hold, in each form of its state; or every second, third, ... of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    y = np.arange(24) % 3
    indicators = np.column_stack([y > 0, y > 1]).astype(float)
    frame = pd.DataFrame({"a": X[:, 0], "b": [f"c{v}" for v in y], "c": [f"words of row {v} here" for v in y]})
    sequences = [X[:8], X[8:16], X[16:]], [y[:8].tolist(), y[8:16].tolist(), y[16:].tolist()]
    brief = {"n_epochs": 2, "random_state": 0}
    made: list[tuple[Any, Any, Any]] = []
    for name in ("PRank", "PRIL", "MultiplicativePRIL", "CuSumRank", "WidrowHoff", "MulticlassPerceptron"):
        made.append((getattr(rw, name)(**brief), X, y))
    made += [(rw.ImportanceWeightedPerceptron(scheme=s, **brief), X, y) for s in ("multi-vector", "all-pairs")]
    made += [(rw.MultiplicativePRIL(signed=False, average=False, **brief), X, y)]
    for rows in (X, sparse.csr_matrix(X)):
        made += [(rw.KernelPRIL(kernel="rbf", **brief), rows, y), (rw.KernelCuSumRank(budget=5, **brief), rows, y)]
    for complexity in ("euclidean", "entropic"):
        made.append((rw.LabelRanker(complexity=complexity, **brief), X, indicators))
    made.append((rw.LabelRanker(average=False, **brief), X, indicators))
    for name in ("SVOR", "VILMA", "MORD", "PiecewiseMORD", "RoundedRegression"):
        made.append((getattr(rw, name)(tol=0.1), X, y))
    made.append((rw.VILMA(loss=np.abs(np.subtract.outer(range(3), range(3))) ** 1.5, tol=0.1), X, y))
    made.append((rw.MissingLabelClassifier(tol=0.1), X, indicators))
    made += [(rw.CumulativeLink(tol=0.1), X, y), (rw.UnifiedClassifier(tol=0.1), X, y)]
    made += [(rw.CalibratedOrdinal(rw.PRIL(**brief), cv=2), X, y)]
    made += [(rw.ConformalOrdinal(rw.PRIL(**brief), level=0.5, score="distance"), X, y)]
    made += [(rw.ConformalOrdinal(rw.CumulativeLink(tol=0.1), level=0.5), X, y)]
    made += [(rw.OnlineConformalOrdinal(rw.PRIL()), X, y)]
    made += [(rw.ChainClassifier(loss="mae", tol=0.1), *sequences)]
    made += [(rw.ChainClassifier(loss="mae", solver="perceptron", **brief), *sequences)]
    made += [(rw.TableEncoder(n_hashed=16), frame, y), (rw.TableModel(rw.PRIL(**brief)), frame, y)]
    made += [(rw.TableModel(rw.PRIL(**brief), encoder="none"), X, y)]
    made += [(rw.TableModel(rw.PRIL(**brief), encoder=rw.OnlineScaler()), X, y), (rw.OnlineScaler(), X, y)]
    links = [rw.CumulativeLink(tol=0.1), rw.CumulativeLink(alpha=1.0, tol=0.1)]
    made += [(rw.OnlineCumulativeLink(**brief), X, y), (rw.BlendedOrdinal(links, cv=2), X, y)]
    made += [(rw.PathCV(rw.SVOR(tol=0.1), alphas=[0.1, 1.0], cv=2), X, y)]
    made += [(rw.AutoOrdinal(estimators=["constant", "CumulativeLink, linear"], n_fits=8, cv=2), X, y)]
    for loss in ("likelihood", "implicit"):
        trees = rw.BoostedThresholds(loss=loss, max_iter=3, early_stopping=False, n_jobs=1, random_state=0)
        made.append((trees, X, y))
    answers = pd.DataFrame({"item": np.repeat(range(8), 3), "rater": ["A", "B", "C"] * 8, "label": y})
    made += [(rw.RaterModel(tol=0.1), answers, None), (rw.RaterModel(tol=0.1), answers, X[:8])]
    made += pipelines(frame, X, y)
    found = [Victim(type(m).__name__, m.fit(rows, labels), rows, labels) for m, rows, labels in made[::every]]
    streams = "PRIL", "CuSumRank", "KernelPRIL", "LabelRanker", "MultiplicativePRIL", "OnlineCumulativeLink"
    for name in streams[::every]:
        stream = getattr(rw, name)()
        for i in range(24):
            stream.learn_one({"a": X[i, 0], ("b", 1): X[i, 1], 7: X[i, 2]}, int(y[i]))
        found.append(Victim(name, stream, X, y))
    return found


def pipelines(frame: pd.DataFrame, X: np.ndarray, y: np.ndarray) -> list[tuple[Any, Any, Any]]:
    """Models behind each of scikit-learn's transformers that a file can hold."""
    columns = make_column_transformer(
        (preprocessing.StandardScaler(), ["a"]),
        (preprocessing.OneHotEncoder(min_frequency=9, handle_unknown="infrequent_if_exist"), ["b"]),
        (TfidfVectorizer(), "c"),
    )
    passed = make_column_transformer((preprocessing.OrdinalEncoder(), ["b"]), ("passthrough", ["a"]), remainder="drop")
    before = [
        make_pipeline(SimpleImputer(), preprocessing.MinMaxScaler(), preprocessing.PolynomialFeatures(2)),
        make_pipeline(preprocessing.MaxAbsScaler(), preprocessing.SplineTransformer(n_knots=3)),
        make_pipeline(preprocessing.StandardScaler(), Nystroem(n_components=5, random_state=0)),
    ]
    made = [(make_pipeline(step, rw.SVOR(tol=0.1)), X, y) for step in before]
    made += [(make_pipeline(step, rw.PRIL(n_epochs=1, random_state=0)), frame, y) for step in (columns, passed)]
    made.append((make_pipeline(CountVectorizer(), rw.CumulativeLink(tol=0.1)), frame["c"], y))
    return [*made, (rw.TableModel(rw.SVOR(tol=0.1), preprocessing.RobustScaler()), X, y)]


def contents(model: Any, path: Path) -> tuple[Header, Arrays]:
    """Header and arrays of the file of a model."""
    rw.save(model, path)
    arrays, metadata = persistence._read(path)
    return json.loads(metadata["rankwise"]), arrays


def as_before(victim: Victim, header: Header, arrays: Arrays) -> tuple[Victim, Header, Arrays]:
    """The file of trees as version 0.1 wrote it: with LightGBM's text."""
    text = text_of_trees(victim.model.trees_, victim.model.n_features_in_)
    arrays = {name: array for name, array in arrays.items() if not name.startswith("model:trees:")}
    arrays["model:trees"] = np.frombuffer(text.encode(), dtype=np.uint8)
    return victim, {**header, "model": {**header["model"], "trees": {"array": "model:trees"}}}, arrays


def write(path: Path, text: str, arrays: Arrays) -> None:
    """Write a file whose checksum fits what it says."""
    path.write_bytes(to_safetensors(arrays, {"rankwise": text, "sha256": persistence._digest(text, arrays)}))


# -- mutations ---------------------------------------------------------------------------------------------------------

NUMBERS = (
    -1,
    0,
    1,
    2,
    8,
    255,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    10**30,
    -(2**40),
    0.5,
    -0.0,
    1e-320,
    1e308,
    30_000_000,
)
VALUES = (None, True, False, "", "x", "none", "pa1", "a\0b", [], {}, [[]], [1, 2], {"a": 1}, "0" * 2000)
KINDS = ("list", "tuple", "dict", "float", "objects", "array", "part", "odd")


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree of dicts and lists: its container and its key."""
    found, ahead = [], [tree]
    while ahead:
        inner = ahead.pop()
        keys = list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        for key in keys:
            found.append((inner, key))
            ahead.append(inner[key])
    return found


def hostile(rng: np.random.Generator, header: Header, arrays: Arrays) -> Any:
    """A value to put somewhere."""
    pick = int(rng.integers(7))
    if pick == 0:
        return NUMBERS[rng.integers(len(NUMBERS))]
    if pick == 1:
        return copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    if pick == 2:
        return {"array": str(rng.choice([*arrays, "nowhere"]))}
    if pick == 3:
        return {"float": str(rng.choice(["nan", "inf", "-inf", "x", "1e400"]))}
    if pick == 4:
        return {str(rng.choice(KINDS)): hostile(rng, header, arrays)}
    if pick == 5:
        deep: Any = 1
        for _ in range(int(rng.choice([3, 100, 300]))):
            deep = {"list": [deep]} if rng.random() < 0.999 else [deep]
        return deep
    container, key = places(header)[rng.integers(len(places(header)))]
    return copy.deepcopy(container[key])


def forge_header(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """Change one place of a header."""
    inner = header.get("model")
    found = places(inner if isinstance(inner, dict) and inner and rng.random() < 0.6 else header)
    container, key = found[rng.integers(len(found))]
    how = rng.random()
    if how < 0.15:
        del container[key]
    elif how < 0.25 and isinstance(container, list):
        container.extend([copy.deepcopy(container[key])] * int(rng.choice([1, 3, 400])))
    elif how < 0.3 and isinstance(container, dict):
        container[str(rng.choice(["odd", "state", "classes", "features", "list"]))] = hostile(rng, header, arrays)
    elif how < 0.4:
        other, place = found[rng.integers(len(found))]
        container[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(container[key])
    else:
        container[key] = hostile(rng, header, arrays)


def forge_array(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """Change one array: its length, shape, type or values."""
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name]
    how = int(rng.integers(10))
    if how == 0:
        arrays.pop(name)
    elif how == 1:
        arrays[name] = arrays[str(rng.choice(sorted(arrays)))].copy()
    elif how == 2 and array.size:
        axis = int(rng.integers(max(array.ndim, 1)))
        arrays[name] = np.repeat(array, int(rng.choice([2, 5])), axis=axis) if array.ndim else array[None]
    elif how == 3:
        arrays[name] = np.ascontiguousarray(array[: int(rng.integers(len(array) + 1))] if array.ndim else array)
    elif how == 4:
        shapes = [(0,), (0, 2**31 - 1), (1,), (2**40, 0), ()]
        shape = shapes[rng.integers(len(shapes))]
        arrays[name] = np.zeros(shape, dtype=array.dtype)
    elif how == 5:
        arrays[name] = array.astype(rng.choice(["f4", "i4", "i8", "u8", "f8", "b1", "f2", "i2"]))
    elif how == 6:
        arrays[name] = np.ascontiguousarray(array.T) if array.ndim > 1 else array.reshape(1, -1)
    elif array.size:
        array = arrays[name] = array.copy()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            odd = [np.nan, np.inf, -1.0, 1e308, -1e308, 2.0**31, -(2.0**62), 0.0, 7.0, 30_000_000.0, 5e-324]
            value = np.array(odd[rng.integers(len(odd))]).astype(array.dtype)
        places_ = rng.random(array.shape) < rng.choice([0.2, 1.0])
        array[places_] = value


def forged(rng: np.random.Generator, header: Header, arrays: Arrays) -> tuple[str, Arrays]:
    """Text of the header and arrays with one to three changes."""
    header, arrays = copy.deepcopy(header), dict(arrays)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        try:
            (forge_array if arrays and rng.random() < 0.5 else forge_header)(rng, header, arrays)
        except (TypeError, ValueError, KeyError, IndexError, RecursionError):
            continue  # a change that cannot be made to what is left
    try:
        text = json.dumps(header)
    except RecursionError:
        text = "null"
    if rng.random() < 0.02 or text == "null":  # deeper than a parser may follow
        text = text.replace("null", f"{'[' * 50_000}{']' * 50_000}", 1)
    return text, arrays


# -- what becomes of a file --------------------------------------------------------------------------------------------


def use(model: Any, victim: Victim, path: Path) -> None:
    """Call all that a service would call: an answer, or an error of the package's own kind."""
    for name, arguments in (
        ("predict", (victim.X,)),
        ("intervals", ()),
        ("weighted", ()),
        ("transform", (victim.X,)),
        ("decision_function", (victim.X,)),
        ("predict_proba", (victim.X,)),
        ("predict_quantile", (victim.X, 0.5)),
        ("predict_interval", (victim.X,)),
        ("predict_set", (victim.X,)),
        ("predict_one", ({"a": 1.0, 7: 2.0, 0: 1.0},)),
        ("partial_fit", (victim.X, victim.y)),
        ("transform_one", ({"a": 1.0, "new": 2.0, 0: 1.0},)),
        ("learn_one", ({"a": 1.0, "new": 2.0, 0: 1.0}, *((1,) if victim.name != "OnlineScaler" else ()))),
    ):
        if hasattr(model, name):
            try:
                getattr(model, name)(*arguments)
            except Exception as error:
                require_own(error)
    for name in ("support_vectors_", "coef_", "thresholds_", "feature_importances_"):
        getattr(model, name, None)
    if hasattr(model, "trees_"):
        try:
            rw.explain(model, victim.X)
            model.booster_.predict(victim.X, pred_contrib=True)
        except Exception as error:
            require_own(error)
    rw.save(model, path)


def setup(every: int = 1) -> tuple[list[tuple[Victim, Header, Arrays]], Path]:
    """Good files of the victims, which are loaded and used once."""
    path = Path(tempfile.mkdtemp()) / "forged.rankwise"
    atexit.register(shutil.rmtree, path.parent)
    targets = [(victim, *contents(victim.model, path)) for victim in victims(every)]
    targets += [as_before(*target) for target in targets if hasattr(target[0].model, "trees_")]
    for victim, header, arrays in targets:
        write(path, json.dumps(header), arrays)
        use(rw.load(path), victim, path)
    return targets, path


def case(shared: tuple[list[tuple[Victim, Header, Arrays]], Path], rng: np.random.Generator) -> str:
    """Load one forged file, and use the model if there is one."""
    targets, path = shared
    victim, header, arrays = targets[rng.integers(len(targets))]
    write(path, *forged(rng, header, arrays))
    try:
        model = rw.load(path)
    except persistence.ModelFileError as error:
        if "more memory" in str(error):
            raise FaultError(f"{victim.name}: {error}") from None
        return "refused"
    try:
        use(model, victim, path.with_suffix(".again"))
    except FaultError as fault:
        raise FaultError(f"{victim.name}: {fault}") from None
    return "answer"
