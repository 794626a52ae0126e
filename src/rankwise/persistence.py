"""Save and load models: one file, arrays and plain parameters only, nothing is ever executed on load.

A model file is a safetensors file. Its metadata holds one JSON text with the format's version, the estimator's name,
parameters, classes and feature names, and a SHA-256 digest of that text and of all arrays: a file that was cut, altered
or made by something else is recognised, and says so. A model made of parts, such as :class:`rankwise.TableModel`, holds
each part in the same way, inside the same text. Notes, plain values that say where a model comes from, may go with it.
A text too long for the metadata, such as that of a model with millions of names, is stored as an array (format 2).

A file may also be forged, with a checksum that fits. What it declares is checked before anything is made of it, so that
loading takes memory in proportion to the file's size, and what comes out is a model that its kernels can trust.

Files are written to a temporary name, flushed to the disk and renamed, so a crash leaves the old file or the new one,
never half of one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import reprlib
import tempfile
from collections import UserList
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from rankwise._files import write_whole
from rankwise._registry import ESTIMATORS, SAVED
from rankwise._sklearn import output_frame, set_output_frame
from rankwise._version import __version__
from rankwise.features import foreign

FORMAT = 2  # 1: the text is in the metadata; 2: it is an array
_TEXT = "header"  # array that holds the text if it is longer than this; safetensors bounds its metadata at 100 MB
_LONGEST_TEXT = 2**20
_LARGEST_STRINGS = 2**26  # bytes that an array of strings may take where their lengths differ widely


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, foreign, or from a newer version."""


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : estimator, pipeline or search
        A fitted rankwise estimator whose parameters are plain: numbers, strings, None, lists of them, arrays. It may be
        in a scikit-learn pipeline, behind the scalers, encoders and vectorisers that :mod:`rankwise.features.foreign`
        lists; of a fitted search (GridSearchCV) the best estimator is saved.
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
    write_whole(Path(path), to_bytes(model, notes))


def to_bytes(model: Any, notes: Mapping[str, Any] | None = None) -> bytes:
    """Content of the model file that :func:`save` writes: the same model and notes give the same bytes."""
    if hasattr(model, "to_local"):  # an estimator on Dask: what it has learnt does not need Dask
        model = model.to_local()
    if not _is_known(model):  # a search of scikit-learn's
        model = getattr(model, "best_estimator_", model)
    arrays: dict[str, NDArray[Any]] = {}
    origin = {"format": 1, "rankwise": __version__}
    header = {**origin, **_pack_estimator(model, "", arrays)}
    if notes is not None:
        header["notes"] = _pack(dict(notes), "note", arrays)
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    if len(text) > _LONGEST_TEXT:
        arrays[_TEXT] = np.frombuffer(text.encode(), dtype=np.uint8)
        text = json.dumps({**origin, "format": 2}, sort_keys=True)
    metadata = {"rankwise": text, "sha256": _digest(text, arrays)}
    return _in_order(to_safetensors(arrays, metadata))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote. Nothing in the file is executed."""
    header, arrays = _checked(Path(path))
    # The checksum fits: the file was written like this, by hand or by a version with a bug.
    with _refusing(f"{path} does not describe a {str(header.get('estimator'))[:60]} that can exist"):
        return _unpack_estimator(header, arrays)


def from_bytes(content: bytes) -> Any:
    """Model whose file has this content. Nothing in it is executed."""
    with tempfile.TemporaryDirectory(prefix="rankwise-") as folder:
        path = Path(folder) / "model.rankwise"
        path.write_bytes(content)
        return load(path)


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
    with _refusing(f"{path} has notes that cannot be read"):
        return dict(_unpack(header.get("notes", {"dict": {}}), arrays))


@contextmanager
def _refusing(complaint: str) -> Iterator[None]:
    """Turn errors inside into a :class:`ModelFileError` that begins with the complaint."""
    try:
        yield
    except ModelFileError:
        raise
    except KeyError as error:
        raise ModelFileError(f"{complaint}: it has no {error}.") from None
    except RecursionError:
        raise ModelFileError(f"{complaint}: it is nested too deeply.") from None
    except MemoryError:
        raise ModelFileError(f"{complaint}: it needs more memory than there is.") from None
    except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError, SafetensorError) as error:
        reason = str(error).rstrip(".")
        raise ModelFileError(f"{complaint}: {reason if len(reason) < 500 else reason[:500] + '...'}.") from None


def _checked(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model file, whose checksum fits them."""
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}.")
    with _refusing(f"{path} is no model file, or a damaged one"):
        arrays, metadata = _read(path)
    text = metadata.get("rankwise")
    if text is None:
        raise ModelFileError(
            f"{path} is a safetensors file but not a rankwise model (write one with rankwise.save(model, path))."
        )
    header = _parsed(text, path)
    version = header.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{path} has no format that exists: {reprlib.repr(version)}. Formats are 1 to {FORMAT}.")
    if version > FORMAT:
        raise ModelFileError(
            f"{path} has format {version}, written by rankwise {str(header.get('rankwise', '?'))[:20]}; this "
            f"rankwise {__version__} reads formats up to {FORMAT}. Upgrade rankwise."
        )
    if metadata.get("sha256") != _digest(text, arrays):
        raise ModelFileError(f"{path} is damaged: its contents do not match their checksum. Restore it from a copy.")
    if version == 2:
        with _refusing(f"{path} is no model file, or a damaged one"):
            header = _parsed(arrays.pop(_TEXT).tobytes().decode(), path)
    return header, arrays


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ModelFileError(f"{path} is damaged: its header cannot be read. Restore it from a copy.")
    return header


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _pack_estimator(model: Any, place: str, arrays: dict[str, NDArray[Any]], *, fitted: bool = True) -> dict[str, Any]:
    """Name and parameters of an estimator and, if ``fitted``, its fitted state."""
    name = type(model).__name__
    if not _is_known(model):
        raise TypeError(
            f"cannot save a {type(model).__module__}.{name}: model files hold estimators that are nothing but numbers, "
            f"{', '.join(SAVED)}. Pickle others, where the file can be trusted."
        )
    if fitted and not foreign.is_fitted(model):
        raise ValueError(f"this {name} is not fitted yet: fit it before saving it.")
    is_foreign = name in foreign.KNOWN
    parameters = foreign.parameters(model) if is_foreign else model.get_params(deep=False)
    packed: dict[str, Any] = {
        "estimator": name,
        "parameters": {k: _pack(v, f"{place}parameter:{k}", arrays) for k, v in parameters.items()},
    }
    if output_frame(model) is not None:
        packed["output"] = output_frame(model)
    if fitted:
        learnt = foreign.to_plain(model) if is_foreign else model.to_plain()
        packed["model"] = {k: _pack(v, f"{place}model:{k}", arrays) for k, v in learnt.items()}
    return packed


def _unpack_estimator(packed: Mapping[str, Any], arrays: dict[str, NDArray[Any]], *, fitted: bool = True) -> Any:
    name = packed.get("estimator")
    estimator = (_estimator(name) or foreign.KNOWN.get(name)) if isinstance(name, str) else None
    if estimator is None:
        raise ValueError(f"this rankwise {__version__} does not know {reprlib.repr(name)}")
    parameters = {k: _unpack(v, arrays) for k, v in packed["parameters"].items()}
    classes = parameters.get("classes")
    if isinstance(classes, (list, tuple)):
        _require_even([value for value in classes if isinstance(value, str)])
    is_foreign = name in foreign.KNOWN
    if is_foreign:
        parameters = {k: foreign.revived(v) for k, v in parameters.items()}
    model = estimator(**parameters)
    if "output" in packed:
        set_output_frame(model, packed["output"])
    if fitted:
        learnt = {k: _unpack(v, arrays, fitted=True) for k, v in packed["model"].items()}
        if is_foreign:
            foreign.from_plain(model, learnt)
        else:
            model.from_plain(learnt)
    return model


def _is_known(model: Any) -> bool:
    name = type(model).__name__
    return type(model) in (_estimator(name), foreign.KNOWN.get(name))


def _estimator(name: str) -> type[Any] | None:
    """Public estimator of rankwise that can be saved, or None; imported only when needed."""
    entry = ESTIMATORS.get(name)
    return entry.load(name) if entry is not None and entry.saved else None


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    most = path.stat().st_size
    with safe_open(path, framework="np") as file:
        arrays = {}
        for name in file.keys():  # noqa: SIM118 - not a dict
            shape = file.get_slice(name).get_shape()
            if max(shape, default=0) > most:  # without entries an array may claim any length
                raise ValueError(f"array {reprlib.repr(name)} of shape {shape} in a file of {most} bytes")
            # safetensors hands out views of the file's memory: copies outlive the file and can be written to.
            arrays[name] = np.array(file.get_tensor(name))
            if arrays[name].dtype.kind not in "iufb":
                raise ValueError(f"array {reprlib.repr(name)} has the type {arrays[name].dtype}")
        return arrays, file.metadata() or {}


def _in_order(content: bytes) -> bytes:
    """Content of a safetensors file with its header in order: the library writes metadata in a random order.

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
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
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
        while name in arrays:  # keys may hold colons themselves
            name += "'"
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return {"objects": _pack_all(value.tolist(), name, arrays), "strings": value.dtype.kind == "U"}
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {"dict": {k: _pack(v, f"{name}:{k}", arrays) for k, v in value.items()}}
    if isinstance(
        value, UserList
    ):  # columns in ColumnTransformer of scikit-learn 1.6, which warn if they are looked at
        value = value.data
    if isinstance(value, (list, tuple, range)):
        return {"tuple" if isinstance(value, tuple) else "list": _pack_all(value, name, arrays)}
    if _is_known(value):  # a part of the model: as a parameter it is not fitted
        is_parameter = "parameter:" in name.rpartition("model:")[2]
        return {"part": _pack_estimator(value, f"{name}:", arrays, fitted=not is_parameter)}
    kind, _, what = name.partition(":")
    raise ValueError(
        f"cannot save {kind} {what.split(':')[0]!r}: a model file holds numbers, strings, None and arrays, "
        f"and this is a {type(value).__name__}. Of scikit-learn it knows {', '.join(sorted(foreign.KNOWN))}."
    )


def _pack_all(values: Iterable[Any], name: str, arrays: dict[str, NDArray[Any]]) -> list[Any]:
    # There may be millions of names: those that are packed as they are need no call.
    return [v if type(v) in (str, int) else _pack(v, f"{name}:{i}", arrays) for i, v in enumerate(values)]


def _unpack(value: Any, arrays: dict[str, NDArray[Any]], *, fitted: bool = False) -> Any:
    """The plain value of a JSON form; estimators in it are fitted, or parameters, which are not."""
    if not isinstance(value, (dict, list)):
        return value
    packed: dict[str, Any] = value if isinstance(value, dict) else {}
    kind = next(iter(packed), "")
    inner = packed.get(kind)
    if kind not in _HELD_BY or not isinstance(inner, _HELD_BY[kind]):
        raise ValueError(f"a value of no kind: {reprlib.repr(value)}")
    if kind == "part":
        return _unpack_estimator(inner, arrays, fitted=fitted)
    if kind == "array":
        return arrays.pop(inner)  # so that no two arrays share their memory
    if kind == "float":
        return float(inner)
    if kind == "dict":
        return {k: _unpack(v, arrays, fitted=fitted) for k, v in inner.items()}
    items = [v if type(v) in (str, int) else _unpack(v, arrays, fitted=fitted) for v in inner]
    if kind == "objects":
        array = np.fromiter(items, dtype=object, count=len(items))
        if not packed.get("strings"):
            return array
        if not all(isinstance(v, str) for v in items):
            raise ValueError("strings among which something else is")
        _require_even(items)
        return array.astype(np.str_)
    return tuple(items) if kind == "tuple" else items


#: What each kind of value is packed as.
_HELD_BY: dict[str, Any] = dict(part=dict, dict=dict, array=str, float=str, objects=list, list=list, tuple=list)


def _require_even(texts: list[str]) -> None:
    """Refuse texts of such uneven lengths that an array of them, padded to the longest, would fill the memory."""
    lengths = [len(text) for text in texts]
    if 4 * len(lengths) * max(lengths, default=0) > max(_LARGEST_STRINGS, 100 * sum(lengths)):
        raise ValueError(f"{len(lengths)} texts of up to {max(lengths)} characters, {sum(lengths)} in all")
