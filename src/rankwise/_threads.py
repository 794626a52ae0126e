"""How many threads or processes work at the same time: at most as many as there are cores, whatever is asked for.

More of them are never faster, and too many end the process: OpenMP and the operating system refuse them.
"""

from __future__ import annotations

import os

import joblib


def at_most_cores(n_jobs: int | None) -> int | None:
    """Number of jobs for joblib, in its own terms: None and negative numbers mean there what they always mean.

    Examples
    --------
    >>> at_most_cores(1), at_most_cores(-1), at_most_cores(None)
    (1, -1, None)
    >>> at_most_cores(10**9) == joblib.cpu_count()
    True
    """
    return n_jobs if n_jobs is None or n_jobs <= 0 else min(int(n_jobs), joblib.cpu_count())


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores that the process may use for None, counted from the last for a negative number.

    ``OMP_NUM_THREADS`` bounds what is not named, which joblib sets in its workers: searches in parallel do not fight
    for the cores.
    """
    cores = joblib.cpu_count()
    if n_jobs is not None and n_jobs > 0:
        return min(int(n_jobs), int(cores))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if allowed.isascii() and allowed.isdigit() and int(allowed) > 0:
        cores = min(cores, int(allowed))
    return int(cores) if n_jobs is None else max(1, int(cores + 1 + n_jobs))
