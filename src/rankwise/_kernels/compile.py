"""How kernels are compiled: always cached on disk, never holding the interpreter lock, never reordering sums.

numba's disk cache notices an edit in the file that holds a kernel, not in the files of the functions it calls. So
every kernel is built by a factory that closes over :data:`SOURCES`, a digest of the files that hold shared functions;
closure variables are part of the cache key, and an edit there compiles the kernel again.

numba numbers the files of a kernel's variants in the order in which they are compiled. Two processes that compile
different variants at the same time give both the same number, and one is later loaded in the place of the other. So
files are named by their key here.
"""

import hashlib
from pathlib import Path

import numba
from numba.core.caching import Cache, IndexDataCacheFile

_PACKAGE = Path(__file__).resolve().parent.parent


def _digest_of_sources():
    digest = hashlib.sha256()
    rooms = ("perceptrons", "label_ranking", "large_margin", "structured")
    for shared in ("_kernels/*.py", "models/*.py", "solvers/*.py", *(f"{room}/_*.py" for room in rooms)):
        for path in sorted(_PACKAGE.glob(shared)):
            digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")


SOURCES: int = _digest_of_sources()

_njit = numba.njit(cache=True, nogil=True, error_model="numpy")


class _NamedByKey(IndexDataCacheFile):
    """Cache of a kernel in which a file belongs to one key, whoever writes it."""

    def save(self, key, data):
        name = self._data_name(int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big"))
        self._save_data(name, data)
        overloads = self._load_index()
        if overloads.get(key) != name:
            overloads[key] = name
            self._save_index(overloads)


def kernel(function):
    """Compile a loop. Division by zero gives infinity as in numpy, not an exception."""
    compiled = _njit(function)
    cache = getattr(compiled, "_cache", None)
    if isinstance(cache, Cache):
        cache._cache_file.__class__ = _NamedByKey
    return compiled
