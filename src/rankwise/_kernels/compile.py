"""How kernels are compiled: always cached on disk, never holding the interpreter lock, never reordering sums.

numba's disk cache notices an edit in the file that holds a kernel, not in the files of the functions it calls, and it
numbers the files of a kernel's variants in the order in which they are compiled: two processes that compile different
variants at the same time give both the same number, and one is later loaded in the place of the other. So the cache of
a kernel is stamped here with a digest of its module, of those of the functions it closes over, and of all that these
import from the package, and a file in it is named by what it holds. This is the one place that knows how numba's cache
works inside; ``tests/kernels/test_compile`` says what broke when a new numba changes it.
"""

import functools
import hashlib
import re
from pathlib import Path

import numba
from numba.core.caching import IndexDataCacheFile
from numba.extending import register_jitable

_PACKAGE = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(r"^ *(?:from|import) rankwise([\w.]*)(?: import (\([\w,\s]*|[\w, ]*))?", re.MULTILINE)


@functools.cache
def _imported_files(path):
    """Files of the package that a source file names in its imports; of a package, all that it holds."""
    found: set[Path] = set()
    for dotted, names in _IMPORT.findall(_content(path).decode()):
        module = _PACKAGE.joinpath(*filter(None, dotted.split(".")))
        for place in (module, *(module / name.strip() for name in names.strip("(").split(","))):
            found.update(place.glob("*.py") if place.is_dir() and place != _PACKAGE else [])
            found.update({place.with_suffix(".py")} if place.with_suffix(".py").is_file() else [])
    return found


@functools.cache
def _content(path):
    return path.read_bytes()


def _own_files(function):
    """Files of a function and of those that it closes over."""
    function = getattr(function, "py_func", function)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    files = {Path(function.__code__.co_filename).resolve()} if hasattr(function, "__code__") else set()
    return files.union(*(_own_files(value) for value in cells))


def digest_of_sources(function):
    """Digest of the files of a function and of everything that they import from the package, directly or not."""
    seen, ahead = set(), _own_files(function)
    while ahead:
        seen |= ahead
        ahead = set().union(*(_imported_files(file) for file in ahead)) - seen
    digest = hashlib.sha256()
    for file in sorted(seen):
        digest.update(_content(file))
    return digest.hexdigest()


_njit = numba.njit(cache=True, nogil=True, error_model="numpy")


class _NamedByContent(IndexDataCacheFile):
    """Cache of a kernel in which a file belongs to one key and one state of the sources, whoever writes it."""

    def save(self, key, data):
        name = self._data_name(
            int.from_bytes(hashlib.sha256(repr((key, self._source_stamp)).encode()).digest()[:8], "big")
        )
        self._save_data(name, data)
        overloads = self._load_index()
        if overloads.get(key) != name:
            overloads[key] = name
            self._save_index(overloads)


def kernel(function):
    """Compile a loop. Division by zero gives infinity as in numpy, not an exception."""
    compiled = _njit(function)
    cache = getattr(compiled, "_cache", None)
    if cache is not None:  # there is none where numba is switched off
        digest = digest_of_sources(function)
        # A factory makes kernels of one name from functions of several files: each state of the sources has its index.
        name = f"{cache._impl.filename_base}.{digest[:12]}"
        cache._cache_file = _NamedByContent(cache._cache_path, name, digest)
    return compiled


def inlined(function):
    """Compile a function into every kernel that calls it, once for each row. It must not make or return arrays.

    The caller holds all arrays meanwhile, so references to them are not counted in it: counting costs more than a row.
    """
    return register_jitable(forceinline=True, _nrt=False)(function)
