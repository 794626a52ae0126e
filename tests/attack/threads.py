"""Readers beside a writer: every answer is that of a model between two changes.

A case is a stream of one estimator that learns, from single examples or chunks, while two threads ask it.
"""

from __future__ import annotations

import copy
import sys
import threading
from typing import Any

import numpy as np
from scipy import sparse

import rankwise as rw
from tests.attack.harness import FaultError
from tests.test_contract import bits

NAMES = ("PRank", "PRIL", "MultiplicativePRIL", "CuSumRank", "KernelPRIL", "KernelCuSumRank", "WidrowHoff")
NAMES += ("MulticlassPerceptron", "ImportanceWeightedPerceptron", "LabelRanker", "OnlineCumulativeLink")


FORMS = ("dense", "sparse", "dicts")


def setup() -> None:
    """Compile everything, so that no case waits for it."""
    X, y = np.eye(5)[:3], [0, 1, 2]
    for name in NAMES:
        for rows in (X, sparse.csr_matrix(X)):
            getattr(rw, name)().partial_fit(rows, y, classes=[0, 1, 2]).predict(rows)
        model = getattr(rw, name)(classes=[0, 1, 2])
        model.learn_one({0: 1.0}, 1)
        model.predict_one({0: 1.0})


def case(shared: None, rng: np.random.Generator) -> str:
    """One estimator, one writer, two readers."""
    name, form = str(rng.choice(NAMES)), str(rng.choice(FORMS))
    X, y = rng.normal(size=(60, 5)).round(2), rng.integers(0, 3, 60)
    rows: Any = sparse.csr_matrix(X) if form == "sparse" else X
    asked = {j: float(v) for j, v in enumerate(X[0])}

    def learn(model: Any, i: int) -> None:
        if form == "dicts":
            model.learn_one({j: float(v) for j, v in enumerate(X[i])}, int(y[i]))
        else:
            model.partial_fit(rows[5 * i : 5 * i + 5], y[5 * i : 5 * i + 5], classes=[0, 1, 2])

    def ask(model: Any) -> Any:
        return bits(model.predict_one(asked)) if form == "dicts" else bits(model.predict(rows[:4]))

    n_steps = 60 if form == "dicts" else 12
    model = getattr(rw, name)(**({"classes": [0, 1, 2]} if form == "dicts" else {}))
    learn(model, 0)
    whole = copy.deepcopy(model)
    allowed = {ask(whole)}
    for i in range(1, n_steps):
        learn(whole, i)
        allowed.add(ask(whole))
    over, odd, asked_for = threading.Event(), [], [0]

    def look() -> None:
        while not over.is_set():
            try:
                found = ask(model)
            except Exception as error:
                odd.append(repr(error))
            else:
                asked_for[0] += 1
                if found not in allowed:
                    odd.append("an answer of no whole model")

    readers = [threading.Thread(target=look) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        for i in range(1, n_steps):
            learn(model, i)
    finally:
        over.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)
    if odd:
        raise FaultError(f"{name}, {form}: {len(odd)} of {asked_for[0]} answers, first {odd[0]}")
    if ask(model) != ask(whole):
        raise FaultError(f"{name}, {form}: the readers changed what was learnt")
    return "answer"
