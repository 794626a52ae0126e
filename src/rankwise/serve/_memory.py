"""Memory of a process that runs for weeks: what a large request took goes back to the system after the answer."""

from __future__ import annotations

import ctypes
import gc
import sys

from rankwise._extras import require

# Parameters of glibc's mallopt, from its malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGE = 2**20  # bytes of a block that is mapped by itself, and so unmapped when it is freed
_SLACK = 8 * 2**20  # free bytes at the end of the heap that are kept
_ARENAS = 2
_NEW_OBJECTS = 20_000, 20, 20  # before the collections of the three generations; a large request makes as many


def return_large_blocks() -> None:
    """Make the allocators give freed memory back to the system instead of keeping it for the next request.

    glibc raises its threshold for mapped blocks with every large block that is freed, up to 32 MB; bodies of requests
    then stay in the heap. A fixed threshold prevents that. Arrow's own pool keeps freed blocks as well: the system's
    allocator replaces it. Other C libraries are left as they are.
    """
    pa = require("pyarrow", 'the service needs pyarrow: pip install "rankwise[serve]"')
    pa.set_memory_pool(pa.system_memory_pool())
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _SLACK), (_ARENA_MAX, _ARENAS)):
            mallopt(parameter, value)


def spare_long_lived_objects() -> None:
    """Leave everything that was made so far, modules above all, out of garbage collections: they would stop requests.

    A full collection looks at every object; those of the libraries are hundreds of thousands, and never garbage. What
    requests make is freed without the collector, but for errors with their tracebacks: it may come less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_NEW_OBJECTS)
