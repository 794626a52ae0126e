"""Two ways to talk to `rankwise serve`: row by row as river does, and with frames as scikit-learn does.

Start a service first, for example

    rankwise serve ratings.rankwise --store feedback.sqlite

and then

    python examples/service/client.py http://127.0.0.1:8321
"""

from __future__ import annotations

import sys
from typing import Any

import rankwise


def river_style(client: rankwise.Client, stream: list[tuple[dict[str, Any], Any]]) -> float:
    """Predict each row, then tell the service what it was; return the share of right predictions."""
    right = 0
    for x, y in stream:
        right += client.predict_one(x) == y
        client.learn_one(x, y)
    return right / len(stream)


def sklearn_style(client: rankwise.Client, X: Any, y: Any) -> float:
    """Predict a frame, then give feedback for all of it; return the mean absolute error before learning."""
    found = client.predict(X)  # a frame of the same kind: id, class, probabilities, interval, version
    error = rankwise.metrics.mean_absolute_error(y, found["class"], classes=client.model()["classes"])
    client.learn(X, y)
    return float(error)


def main(url: str, n: int = 200) -> tuple[float, float]:
    """Make up rows with the columns of the model, all of them numbers, and try both."""
    import numpy as np
    import pandas as pd

    with rankwise.Client(url) as client:
        facts = client.model()
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.standard_normal((n, len(facts["columns"]))), columns=list(facts["columns"]))
        truth = np.array(facts["classes"])[rng.integers(0, len(facts["classes"]), n)]
        rows = frame.to_dict("records")
        half = n // 2
        right = river_style(client, list(zip(rows[:half], truth[:half].tolist(), strict=True)))
        error = sklearn_style(client, frame[half:], truth[half:])
        print(
            f"row by row: {right:.0%} right; frame: {error:.2f} ranks off; the model is now {client.model()['version']}"
        )
    return right, error


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8321")
