"""Threads are bounded by the cores, whatever number is asked for, by a caller or by a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise._threads import at_most_cores, n_threads
from tests.attack.forge import contents, write

TOO_MANY = 300  # few enough for every system: the process lives, and is seen to have them
SCRIPT = """
import os, threading, time
import numpy as np
import rankwise as rw
from rankwise.evaluation import cross_val_predict

rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 3))
y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [-1.0, 0.0, 1.0])
most, over = [0], threading.Event()

def look():
    while not over.wait(0.002):
        most[0] = max(most[0], len(os.listdir("/proc/self/task")))

watch = threading.Thread(target=look)
watch.start()
{work}
over.set()
watch.join()
print(most[0])
"""
WORK = {
    "BoostedThresholds": "model = rw.BoostedThresholds(n_jobs=N, max_iter=6, early_stopping=False).fit(X, y)\n"
    "model.predict(X)\nrw.explain(model, X[:500])",
    "MissingLabelClassifier": "rw.MissingLabelClassifier(n_jobs=N).fit(X[:60], np.eye(4)[y[:60]])",
    "PathCV": "rw.PathCV(rw.CumulativeLink(), alphas=[0.1, 1.0], cv=2, n_jobs=N).fit(X[:60], y[:60])",
    "cross_val_predict": "cross_val_predict(rw.PRIL(), X[:60], y[:60], cv=3, n_jobs=N)",
    "AutoOrdinal": "rw.AutoOrdinal(estimators=['constant'], cv=2, n_jobs=N).fit(X[:60], y[:60])",
}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads as Linux lists them")
@pytest.mark.parametrize("name", WORK)
def test_no_more_threads_than_cores(name):
    script = SCRIPT.format(work=WORK[name].replace("N", str(TOO_MANY), 1))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout.split()[-1]) < 10 + 8 * os.cpu_count()  # pools of BLAS, OpenMP, Arrow and joblib


def test_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    asked = [None, -1, -2, -100, 1, 3, 5, 10**30]
    assert [n_threads(n) for n in asked] == [4, 4, 3, 1, 1, 3, 4, 4]
    assert [at_most_cores(n) for n in asked] == [None, -1, -2, -100, 1, 3, 4, 4]
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert [n_threads(n) for n in asked] == [2, 2, 1, 1, 1, 3, 4, 4]


def test_a_file_asks_for_no_more_than_there_are(tmp_path):
    """scikit-learn's transformers would start as many processes as a file says."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    columns = make_column_transformer((StandardScaler(), ["a"]), (Nystroem(n_components=3), ["a", "b"]), n_jobs=1)
    header, arrays = contents(make_pipeline(columns, rw.PRIL()).fit(frame, np.arange(30) % 3), tmp_path / "m")
    text = json.dumps(header)
    assert text.count('"n_jobs": 1') > 0
    text = text.replace('"n_jobs": 1', f'"n_jobs": {TOO_MANY}').replace('"n_jobs": null', f'"n_jobs": {TOO_MANY}')
    write(tmp_path / "m", text, arrays)
    columns = rw.load(tmp_path / "m")[0]
    assert columns.n_jobs == columns.named_transformers_["nystroem"].n_jobs == joblib.cpu_count()
