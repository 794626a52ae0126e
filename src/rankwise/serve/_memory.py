"""Memory of a process that runs for weeks: what a large request took goes back to the system when it is answered."""

from __future__ import annotations

import ctypes
import gc
import sys

from rankwise.features._arrow import load_pyarrow

# Parameters of glibc's mallopt, from its malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGE = 512 * 1024  # bytes of a block that is mapped by itself, and so unmapped when it is freed
_ARENAS = 2


def return_large_blocks() -> None:
    """Make the allocators give freed memory back to the system instead of keeping it for the next request.

    glibc raises its threshold for mapped blocks with every large block that is freed, up to 32 MB; bodies of requests
    then stay in the heap. A fixed threshold prevents that. Arrow's own pool keeps freed blocks as well: the system's
    allocator replaces it. Other C libraries are left as they are.
    """
    pa = load_pyarrow()
    pa.set_memory_pool(pa.system_memory_pool())
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE), (_ARENA_MAX, _ARENAS)):
            mallopt(parameter, value)


def spare_long_lived_objects() -> None:
    """Leave everything that was made so far, modules above all, out of garbage collections: they would stop requests.

    A full collection looks at every object; those of the libraries are hundreds of thousands, and never garbage.
    """
    gc.collect()
    gc.freeze()
