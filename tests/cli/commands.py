"""Commands run in this process, and what they are run on."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from rankwise.cli._app import app

#: For tests that are not about choosing a model, which takes seconds.
LINK = ["--estimator", "CumulativeLink"]
WORDS = ["good", "bad", "fine", "awful", "nice", "so", "very", "it", "is"]


def run(*arguments):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer ones keep the two apart without being asked
        runner = CliRunner()
    return runner.invoke(app, [str(a) for a in arguments], prog_name="rankwise")


def succeed(*arguments):
    """Output of a command that must succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def facts(*arguments):
    """What a command says with --json."""
    return json.loads(succeed(*arguments, "--json"))


def fail(code, *arguments):
    """The one line of a command that must fail."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("rankwise: warning: ")]
    assert len(lines) == 1, result.output
    assert lines[0].startswith("rankwise: error: ")
    assert not result.stdout
    return lines[0]


def make_frame(n=300, seed=0):
    """Numbers, a category, a text and a boolean, some missing; the grade, and what an annotator said of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(6)
    colour = rng.choice(["red", "blue", "green"], n)
    grade = np.digitize(X @ [1.0, -0.5, 0.3] + (colour == "red"), [-1, 0, 1]) + 1
    lower = np.maximum(1, grade - rng.integers(0, 2, n))
    upper = np.minimum(4, grade + rng.integers(0, 2, n))
    frame = pd.DataFrame(
        {
            "a": X[:, 0],
            "b": np.where(rng.random(n) < 0.1, np.nan, X[:, 1]),
            "c": X[:, 2],
            "colour": colour,
            "remark": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
            "fresh": rng.random(n) < 0.5,
            "w": rng.integers(1, 4, n),
            "lower": lower,
            "upper": upper,
            "grade": grade,
            "said": [str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in zip(lower, upper, strict=True)],
        }
    )
    frame.loc[frame.index % 10 == 3, "said"] = "?"
    return frame


def write(frame, path):
    """Write a frame in the format that the suffix says."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    return path
