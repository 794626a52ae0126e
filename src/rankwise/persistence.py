"""Save and load models: one file, arrays and plain parameters only, nothing is ever executed on load.

A model file is a safetensors file. Its metadata holds one JSON text with the format's version, the estimator's name,
parameters, classes and feature names, and a SHA-256 digest of that text and of all arrays: a file that was cut, altered
or made by something else is recognised, and says so. Files are written to a temporary name, flushed to the disk and
renamed, so a crash leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from rankwise import label_ranking, large_margin, perceptrons, structured
from rankwise._version import __version__

FORMAT = 1
_SUFFIX_HINT = "rankwise.save(model, path)"


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, foreign, or from a newer version."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : estimator
        A fitted rankwise estimator whose parameters are plain: numbers, strings, None, lists of them, arrays.
    path : path
        File to write. It is replaced only when the new one is complete.

    Examples
    --------
    >>> import tempfile, os
    >>> from rankwise import PRank, load, save
    >>> model = PRank(random_state=0).fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.rankwise")
    ...     save(model, path)
    ...     load(path).predict([[2.0]])
    array([3])
    """
    if hasattr(model, "to_local"):  # an estimator on Dask: what it has learnt needs none
        model = model.to_local()
    name = type(model).__name__
    if _known_estimators().get(name) is not type(model):
        raise TypeError(
            f"cannot save a {type(model).__module__}.{name}: model files hold estimators that are nothing but numbers, "
            f"{', '.join(sorted(_known_estimators()))}. Pickle others, where the file can be trusted."
        )
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"this {name} is not fitted yet: fit it before saving it.")
    arrays: dict[str, NDArray[Any]] = {}
    header = {
        "format": FORMAT,
        "rankwise": __version__,
        "estimator": name,
        "parameters": {k: _pack(v, f"parameter:{k}", arrays) for k, v in model.get_params(deep=False).items()},
        "model": {k: _pack(v, f"model:{k}", arrays) for k, v in model.to_plain().items()},
    }
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    metadata = {"rankwise": text, "sha256": _digest(text, arrays)}
    _write_atomically(Path(path), to_safetensors(arrays, metadata))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote. Nothing in the file is executed."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}.")
    arrays, metadata = _read(path)
    text = metadata.get("rankwise")
    if text is None:
        raise ModelFileError(f"{path} is a safetensors file but not a rankwise model (write one with {_SUFFIX_HINT}).")
    try:
        header = json.loads(text)
        version = header["format"]
    except (ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path} is damaged: its header cannot be read. Restore it from a copy.") from None
    if isinstance(version, int) and version > FORMAT:
        raise ModelFileError(
            f"{path} has format {version}, written by rankwise {header.get('rankwise', '?')}; this rankwise "
            f"{__version__} reads formats up to {FORMAT}. Upgrade rankwise."
        )
    if metadata.get("sha256") != _digest(text, arrays):
        raise ModelFileError(f"{path} is damaged: its contents do not match their checksum. Restore it from a copy.")
    estimator = _known_estimators().get(str(header.get("estimator")))
    if estimator is None:
        raise ModelFileError(
            f"{path} holds a {header.get('estimator')!r}, which this rankwise {__version__} does not know."
        )
    try:
        model = estimator(**{k: _unpack(v, arrays) for k, v in header["parameters"].items()})
        model.from_plain({k: _unpack(v, arrays) for k, v in header["model"].items()})
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        # The checksum fits, so this was written so: by hand, or by a version with a bug.
        raise ModelFileError(f"{path} does not describe a {estimator.__name__} that can exist: {error}.") from None
    return model


def _known_estimators() -> dict[str, type[Any]]:
    """Estimators that say what they have learnt as arrays and plain values, by name."""
    rooms = (perceptrons, label_ranking, large_margin, structured)
    named = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {name: found for name, found in named.items() if hasattr(found, "from_plain")}


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    try:
        with safe_open(path, framework="np") as file:
            # safetensors hands out views of the file's memory: copies outlive the file and can be written to.
            return {name: np.array(file.get_tensor(name)) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118 - not a dict
    except (
        SafetensorError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        UnicodeDecodeError,
        OverflowError,
    ) as error:
        raise ModelFileError(f"{path} is no model file, or a damaged one: {error}.") from None


def _digest(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"|{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _pack(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """JSON form of a plain value; arrays of numbers go into the file's tensors and leave a reference."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name}
    if isinstance(value, np.ndarray):
        return {"objects": [_pack(v, name, arrays) for v in value.tolist()], "strings": value.dtype.kind == "U"}
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {"dict": {k: _pack(v, f"{name}:{k}", arrays) for k, v in value.items()}}
    if isinstance(value, (list, tuple, range)):
        packed = [_pack(v, f"{name}:{i}", arrays) for i, v in enumerate(value)]
        return {"tuple": packed} if isinstance(value, tuple) else {"list": packed}
    kind, _, what = name.partition(":")
    raise ValueError(
        f"cannot save {kind} {what.split(':')[0]!r}: a model file holds numbers, strings, None and arrays, "
        f"and this is a {type(value).__name__}."
    )


def _unpack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), None)
    if kind is None:
        raise ValueError("a value without a kind")
    inner = value[kind]
    if kind == "array":
        return arrays[inner]
    if kind == "float":
        return float(inner)
    if kind == "dict":
        return {k: _unpack(v, arrays) for k, v in inner.items()}
    if kind == "objects":
        items = [_unpack(v, arrays) for v in inner]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.astype(np.str_) if value["strings"] else array
    items = [_unpack(v, arrays) for v in inner]
    return tuple(items) if kind == "tuple" else items


def _write_atomically(path: Path, content: bytes) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no directory {path.parent}.")
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
