"""Save and load models: one file, arrays and plain parameters only, nothing is ever executed on load.

A model file is a safetensors file. Its metadata holds one JSON text with the format's version, the estimator's name,
parameters, classes and feature names, and a SHA-256 digest of that text and of all arrays: a file that was cut, altered
or made by something else is recognised, and says so. A model made of parts, such as :class:`rankwise.TableModel`, holds
each part in the same way, inside the same text. Notes, plain values that say where a model comes from, may go with it.
Files are written to a temporary name, flushed to the disk and renamed, so a crash leaves the old file or the new one,
never half of one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from rankwise import batch, calibration, features, label_ranking, multilabel, online, structured, table_model
from rankwise._files import write_whole
from rankwise._version import __version__

FORMAT = 1
_SUFFIX_HINT = "rankwise.save(model, path)"


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, foreign, or from a newer version."""


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : estimator
        A fitted rankwise estimator whose parameters are plain: numbers, strings, None, lists of them, arrays.
    path : path
        File to write. It is replaced only when the new one is complete.
    notes : dict, optional
        Plain values to keep with the model, for :func:`read_notes`: where it comes from, say.

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
    arrays: dict[str, NDArray[Any]] = {}
    header = {"format": FORMAT, "rankwise": __version__, **_pack_estimator(model, "", arrays)}
    if notes is not None:
        header["notes"] = _pack(dict(notes), "note", arrays)
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    metadata = {"rankwise": text, "sha256": _digest(text, arrays)}
    write_whole(Path(path), _in_order(to_safetensors(arrays, metadata)))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote. Nothing in the file is executed."""
    header, arrays = _checked(Path(path))
    try:
        return _unpack_estimator(header, arrays)
    except _UnknownEstimatorError as error:
        raise ModelFileError(f"{path} holds {error}, which this rankwise {__version__} does not know.") from None
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        # The checksum fits, so this was written so: by hand, or by a version with a bug.
        raise ModelFileError(f"{path} does not describe a {header.get('estimator')} that can exist: {error}.") from None


def read_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Notes that were saved with a model; empty if there were none.

    Examples
    --------
    >>> import tempfile, os
    >>> from rankwise import PRank, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.rankwise")
    ...     save(PRank(random_state=0).fit([[0.0], [1.0]], [1, 2]), path, notes={"rows": 2})
    ...     read_notes(path)
    {'rows': 2}
    """
    header, arrays = _checked(Path(path))
    try:
        notes = _unpack(header.get("notes", {"dict": {}}), arrays)
        return dict(notes)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} has notes that cannot be read: {error}.") from None


def _checked(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model file, whose checksum fits them."""
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
    return header, arrays


class _UnknownEstimatorError(ValueError):
    """The name of something that model files do not hold."""


def _pack_estimator(model: Any, place: str, arrays: dict[str, NDArray[Any]], *, fitted: bool = True) -> dict[str, Any]:
    """Name and parameters of an estimator and, if it is to be fitted, what it has learnt."""
    name = type(model).__name__
    if _known_estimators().get(name) is not type(model):
        raise TypeError(
            f"cannot save a {type(model).__module__}.{name}: model files hold estimators that are nothing but numbers, "
            f"{', '.join(sorted(_known_estimators()))}. Pickle others, where the file can be trusted."
        )
    if fitted and not model.__sklearn_is_fitted__():
        raise ValueError(f"this {name} is not fitted yet: fit it before saving it.")
    parameters = model.get_params(deep=False)
    packed = {
        "estimator": name,
        "parameters": {k: _pack(v, f"{place}parameter:{k}", arrays) for k, v in parameters.items()},
    }
    if fitted:
        packed["model"] = {k: _pack(v, f"{place}model:{k}", arrays) for k, v in model.to_plain().items()}
    return packed


def _unpack_estimator(packed: Mapping[str, Any], arrays: dict[str, NDArray[Any]], *, fitted: bool = True) -> Any:
    estimator = _known_estimators().get(str(packed.get("estimator")))
    if estimator is None:
        raise _UnknownEstimatorError(f"a {packed.get('estimator')!r}")
    model = estimator(**{k: _unpack(v, arrays) for k, v in packed["parameters"].items()})
    if fitted:
        model.from_plain({k: _unpack(v, arrays) for k, v in packed["model"].items()})
    return model


def _known_estimators() -> dict[str, type[Any]]:
    """Estimators that say what they have learnt as arrays and plain values, by name."""
    packages = (online, label_ranking, batch, structured, multilabel, features, calibration)
    named = {name: getattr(package, name) for package in packages for name in package.__all__}
    named["TableModel"] = table_model.TableModel
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


def _in_order(content: bytes) -> bytes:
    """Content of a safetensors file with its header in order: the library writes metadata in an order of chance.

    The same model is then the same file, to the bit.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:start]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # arrays begin at a multiple of eight bytes
    return len(header).to_bytes(8, "little") + header + content[start:]


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
    if type(value) in _known_estimators().values():  # a part of the model: as a parameter it is not fitted
        is_parameter = "parameter:" in name.rpartition("model:")[2]
        return {"part": _pack_estimator(value, f"{name}:", arrays, fitted=not is_parameter)}
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
    if kind == "part":
        return _unpack_estimator(inner, arrays, fitted="model" in inner)
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
