"""Model files and a service's log as version 0.1.0 wrote them: what every later version must still read.

``python -m tests.recorded.models_of_before FOLDER`` writes both with the code that is installed. The recorded ones are
never written again: a version that changes the format adds a folder of its own.
"""

import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw

N_TRAIN = 120


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix, interval labels among five classes, and exact labels."""
    random = np.random.default_rng(20)
    X = random.normal(size=(N_TRAIN + 20, 4)).round(6)
    score = X @ [1.0, -0.7, 0.4, 0.0] + 0.3 * random.normal(size=len(X))
    y = np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score) + 1
    width = random.integers(0, 3, size=len(X))
    return X, np.column_stack([np.maximum(y - width, 1), np.minimum(y + width // 2, 5)]), y


def table() -> pd.DataFrame:
    """Columns of every kind, some values missing."""
    X, random = rows()[0], np.random.default_rng(21)
    return pd.DataFrame(
        {
            "size": np.where(random.random(len(X)) < 0.1, np.nan, X[:, 0]),
            "colour": random.choice(["red", "green", "blue"], len(X)),
            "day": pd.date_range("2025-01-01", periods=len(X), freq="31h"),
            "remark": [" ".join(random.choice(["good", "bad", "fine", "so", "very"], 4)) for _ in X],
            "fresh": random.random(len(X)) < 0.5,
            "second": X[:, 1],
        }
    )


def models() -> dict[str, Any]:
    """Fitted models of every kind that a file can hold."""
    X, intervals, y = rows()
    frame = table()
    train = slice(N_TRAIN)
    seed = {"random_state": 0}
    online = {"n_epochs": 2, **seed}
    of_intervals = {
        "PRIL": rw.PRIL(**online),
        "PRIL-declared": rw.PRIL(classes=[1, 2, 3, 4, 5], average=True, **online),
        "MultiplicativePRIL": rw.MultiplicativePRIL(**online),
        "KernelPRIL": rw.KernelPRIL(gamma=0.5, **online),
        "KernelPRIL-budget": rw.KernelPRIL(gamma=0.5, budget=20, **online),
        "CuSumRank": rw.CuSumRank(**online),
        "KernelCuSumRank": rw.KernelCuSumRank(gamma=0.5, **online),
        "OnlineCumulativeLink": rw.OnlineCumulativeLink(classes=[1, 2, 3, 4, 5]),
        "SVOR": rw.SVOR(alpha=0.01),
        "VILMA": rw.VILMA(alpha=0.01),
        "PiecewiseMORD": rw.PiecewiseMORD(cuts=3),
        "CumulativeLink": rw.CumulativeLink(alpha=0.01),
        "CumulativeLink-probit": rw.CumulativeLink(alpha="auto", link="probit"),
        "BoostedThresholds": rw.BoostedThresholds(max_iter=20, early_stopping=False, **seed),
        "PathCV": rw.PathCV(rw.SVOR(), alphas=[0.1, 0.01], cv=3),
        "CalibratedOrdinal": rw.CalibratedOrdinal(rw.SVOR(), cv=3),
        "ConformalOrdinal": rw.ConformalOrdinal(rw.CumulativeLink(), cv=3),
        "OnlineConformalOrdinal": rw.OnlineConformalOrdinal(rw.PRIL(classes=[1, 2, 3, 4, 5], **online)),
        "BlendedOrdinal": rw.BlendedOrdinal([rw.CumulativeLink(), rw.CumulativeLink(link="cloglog")]),
        "pipeline": make_pipeline(StandardScaler(), rw.SVOR(alpha=0.01)),
    }
    of_classes = {
        "PRank": rw.PRank(**online),
        "MORD": rw.MORD(),
        "RoundedRegression": rw.RoundedRegression(alpha=0.1),
        "WidrowHoff": rw.WidrowHoff(**online),
        "MulticlassPerceptron": rw.MulticlassPerceptron(**online),
        "ImportanceWeightedPerceptron": rw.ImportanceWeightedPerceptron(**online),
    }
    of_tables = {
        "TableModel": rw.TableModel(),
        "TableModel-linear": rw.TableModel(rw.CumulativeLink(alpha=0.01), rw.TableEncoder(numbers="linear")),
        "TableModel-products": rw.TableModel(rw.SVOR(), rw.TableEncoder(numbers="spline+products")),
        "TableModel-trees": rw.TableModel(rw.BoostedThresholds(max_iter=20, early_stopping=False, **seed)),
        "TableModel-online": rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4, 5], **online)),
        "TableModel-conformal": rw.TableModel(rw.ConformalOrdinal(rw.CumulativeLink(), cv=3)),
        "AutoOrdinal": rw.AutoOrdinal(n_fits=6, cv=3, **seed),
    }
    fitted = {name: model.fit(X[train], intervals[train]) for name, model in of_intervals.items()}
    fitted |= {name: model.fit(X[train], y[train]) for name, model in of_classes.items()}
    fitted |= {name: model.fit(frame[train], intervals[train]) for name, model in of_tables.items()}
    fitted["texts"] = make_pipeline(TfidfVectorizer(), rw.CumulativeLink()).fit(frame["remark"][train], y[train])
    fitted["LabelRanker"] = rw.LabelRanker(**online).fit(X[train], np.arange(1, 6) <= y[train, None])
    fitted["MissingLabelClassifier"] = rw.MissingLabelClassifier().fit(
        X[train], np.where(np.arange(120)[:, None] % 7 == np.arange(5), np.nan, np.arange(1, 6) < y[train, None])
    )
    fitted["ChainClassifier"] = rw.ChainClassifier(classes=[1, 2, 3, 4, 5], **seed).fit(
        np.array_split(X[train], 10), [part.tolist() for part in np.array_split(y[train], 10)]
    )
    fitted["dicts"] = stream = rw.PRIL(classes=[1, 2, 3, 4, 5])
    for values, label in zip(X[train].tolist(), y[train].tolist(), strict=True):
        stream.learn_one(dict(zip("abcd", values, strict=True)), label)
    fitted["sparse"] = rw.PRIL(**online).fit(sparse.csr_array(np.where(X[train] > 0, X[train], 0.0)), intervals[train])
    return fitted


def answers(name: str, model: Any) -> dict[str, Any]:
    """What a model says of the rows it has not seen, as plain values."""
    X, frame = rows()[0][N_TRAIN:], table()[N_TRAIN:]
    if name.startswith(("TableModel", "Auto")):
        given: Any = frame
    elif name == "texts":
        given = frame["remark"]
    elif name == "ChainClassifier":
        given = np.array_split(X, 4)
    elif name == "dicts":
        return {"predict_one": [model.predict_one(dict(zip("abcd", row, strict=True))) for row in X.tolist()]}
    else:
        given = X
    methods = ("predict", "predict_proba", "predict_set", "decision_function")
    said = {method: getattr(model, method)(given) for method in methods if hasattr(model, method)}
    return {method: [np.asarray(part).tolist() for part in value] for method, value in said.items()}


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    expected = {}
    with zipfile.ZipFile(folder / "models.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, model in models().items():
            rw.save(model, folder / "one")
            content = (folder / "one").read_bytes()
            archive.writestr(zipfile.ZipInfo(f"{name}.rankwise"), content, zipfile.ZIP_DEFLATED)
            expected[name] = answers(name, rw.load(folder / "one"))
        archive.writestr(zipfile.ZipInfo("answers.json"), json.dumps(expected), zipfile.ZIP_DEFLATED)
    (folder / "one").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
