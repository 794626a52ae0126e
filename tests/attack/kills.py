"""kill -9 while a model is saved over another, again and again: the file is the old model or the new one.

Kills of ``rankwise fit`` between checkpoints are in ``tests/cli/test_streams.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rankwise as rw
from tests.attack.harness import ROOT, FaultError

WRITER = """
import os
import sys
import rankwise as rw
parent = os.getppid()
models = [rw.load(path) for path in sys.argv[2:]]
print("ready", flush=True)
while os.getppid() == parent:  # nobody else ends this if the case is ended from outside
    for model in models:
        rw.save(model, sys.argv[1])
"""


def setup() -> None:
    """Nothing is shared."""


def case(shared: None, rng: np.random.Generator) -> str:
    """Kill one process that writes."""
    folder = Path(tempfile.mkdtemp())
    try:
        models = [
            rw.PRIL(random_state=seed, n_epochs=1).fit(rng.normal(size=(9, 2000)), [1, 2, 3] * 3) for seed in (0, 1)
        ]
        paths = [folder / "one", folder / "two", folder / "target"]
        for model, path in zip(models, paths, strict=False):
            rw.save(model, path)
        command = [sys.executable, "-c", WRITER, *map(str, (paths[2], *paths[:2]))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(float(rng.uniform(0.0, 0.2)))
            process.kill()
        if not paths[2].exists():
            return "refused"  # before the first file was complete
        if paths[2].read_bytes() not in (paths[0].read_bytes(), paths[1].read_bytes()):
            raise FaultError("the file is neither the old model nor the new one")
        rw.load(paths[2])
        return "answer"
    finally:
        shutil.rmtree(folder)
