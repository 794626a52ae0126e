"""How kernels are compiled: always cached on disk, never holding the interpreter lock, never reordering sums.

numba's disk cache notices an edit in the file that holds a kernel, not in the files of the functions it calls. So
every kernel is built by a factory that closes over :data:`SOURCES`, a digest of the files that hold shared functions;
closure variables are part of the cache key, and an edit there compiles the kernel again.
"""

import hashlib
from pathlib import Path

import numba

_PACKAGE = Path(__file__).resolve().parent.parent


def _digest_of_sources():
    digest = hashlib.sha256()
    rooms = ("perceptrons", "label_ranking", "large_margin", "structured")
    for shared in ("_kernels/*.py", "models/*.py", "solvers/*.py", *(f"{room}/_*.py" for room in rooms)):
        for path in sorted(_PACKAGE.glob(shared)):
            digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")


SOURCES: int = _digest_of_sources()

#: The decorator of every compiled loop. Division by zero gives infinity as in numpy, not an exception.
kernel = numba.njit(cache=True, nogil=True, error_model="numpy")
