"""Forged model files: the file of a fitted model with a few parts replaced, and a checksum that fits.

`python -m tests.attack.forge CASES SEED` loads forged files, uses the models that come out, and prints one JSON line
with the counts. It runs in a process of its own, so that a crash is a result too.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import save as to_safetensors
from scipy import sparse

import rankwise as rw
from rankwise import persistence

SECONDS_OF_A_CASE = 20
MOST_MEMORY = 300 * 2**20  # that a forged file of a few kilobytes may take, over all cases

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Victim:
    """A fitted model, rows to predict and a chunk to learn from."""

    name: str
    model: Any
    X: Any
    y: Any


def victims() -> list[Victim]:
    """Every estimator that a file can hold, in each form that its state can have."""
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
    made += [(rw.ChainClassifier(loss="mae", tol=0.1), *sequences)]
    made += [(rw.ChainClassifier(loss="mae", solver="perceptron", **brief), *sequences)]
    made += [(rw.TableEncoder(n_hashed=16), frame, y), (rw.TableModel(rw.PRIL(**brief)), frame, y)]
    made += [(rw.TableModel(rw.PRIL(**brief), encoder="none"), X, y)]
    found = [Victim(type(model).__name__, model.fit(rows, labels), rows, labels) for model, rows, labels in made]
    for name in ("PRIL", "CuSumRank", "KernelPRIL", "LabelRanker", "MultiplicativePRIL"):
        stream = getattr(rw, name)()
        for i in range(24):
            stream.learn_one({"a": X[i, 0], ("b", 1): X[i, 1], 7: X[i, 2]}, int(y[i]))
        found.append(Victim(name, stream, X, y))
    return found


def contents(model: Any, path: Path) -> tuple[Header, Arrays]:
    """Header and arrays of the file of a model."""
    rw.save(model, path)
    arrays, metadata = persistence._read(path)
    return json.loads(metadata["rankwise"]), arrays


def write(path: Path, header: Any, arrays: Arrays) -> None:
    """Write a file whose checksum fits what it says."""
    text = header if isinstance(header, str) else json.dumps(header)
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
    found = places(header)
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
    elif how == 2:
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


class TooLongError(BaseException):
    """A case that does not end."""


def use(model: Any, victim: Victim, path: Path) -> None:
    """Call all that a service would call."""
    for call in (
        lambda: model.predict(victim.X),
        lambda: model.transform(victim.X),
        lambda: model.decision_function(victim.X),
        lambda: model.predict_one({"a": 1.0, 7: 2.0, 0: 1.0}),
        lambda: model.support_vectors_,
        lambda: (model.coef_, model.thresholds_),
        lambda: model.partial_fit(victim.X, victim.y),
        lambda: model.learn_one({"a": 1.0, "new": 2.0, 0: 1.0}, 1),
        lambda: rw.save(model, path),
    ):
        try:
            call()
        except AttributeError as error:
            if "object has no attribute" not in str(error) and "NoneType" in str(error):
                raise
        except ValueError:  # one of the package's own kind; RowError and ModelFileError are ValueErrors
            continue


def judge(victim: Victim, path: Path) -> str:
    """ "refused", "used", or what went wrong."""

    def too_long(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS_OF_A_CASE)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = rw.load(path)
            except persistence.ModelFileError as error:
                return "memory: " + str(error)[-80:] if "more memory" in str(error) else "refused"
            use(model, victim, path.with_suffix(".again"))
            return "used"
    except TooLongError:
        return "does not end"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attack(n_cases: int, seed: int, only: str | None = None) -> dict[str, Any]:
    """Load and use forged files; counts of what became of them, and the faults."""
    counts, faults = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forged.rankwise"
        targets = [(victim, *contents(victim.model, path)) for victim in victims() if only in (None, victim.name)]
        for victim, header, arrays in targets:  # what good files take is no fault of the forged ones
            write(path, header, arrays)
            assert judge(victim, path) == "used", victim.name
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        for case in range(n_cases):
            rng = np.random.default_rng((seed, case))
            victim, header, arrays = targets[case % len(targets)]
            write(path, *forged(rng, header, arrays))
            if "ATTACK_TRACE" in os.environ:
                print(case, victim.name, file=sys.stderr, flush=True)
            found = judge(victim, path)
            if found in ("refused", "used"):
                counts[found] += 1
            else:
                faults.append(f"case {case} of seed {seed}, {victim.name}: {found[:300]}")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        if grown > MOST_MEMORY:
            faults.append(f"memory grew by {grown / 2**20:.0f} MB")
    return {"cases": n_cases, **counts, "faults": faults, "memory_mb": round(grown / 2**20)}


if __name__ == "__main__":
    print(json.dumps(attack(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])))
