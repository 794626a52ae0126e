"""Iterative parameter mixing beside partitions in turn, on real data: the error on rows that were held out."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler

import rankwise.dask as rd
from rankwise.datasets import load_abalone, load_parkinsons
from rankwise.evaluation import format_table

SETS = {"parkinsons": load_parkinsons, "abalone": lambda: load_abalone(standardize=True)}
ESTIMATORS = ("PRIL", "MultiplicativePRIL", "CuSumRank", "ImportanceWeightedPerceptron")
PARTITIONS, SPLITS = 16, 1


def main() -> None:
    """Print the table."""
    dask.config.set(scheduler="sync")
    table = []
    for name, load in SETS.items():
        found = load()
        X, y = MaxAbsScaler().fit_transform(np.asarray(found.X, dtype=float)), np.asarray(found.y)
        for estimator in ESTIMATORS:
            errors: dict[str, list[float]] = {"sequential": [], "mixing": []}
            for seed in range(SPLITS):
                train, test, y_train, y_test = train_test_split(X, y, random_state=seed)
                parts = da.from_array(train, chunks=(-(-len(train) // PARTITIONS), -1))
                for mode, kept in errors.items():
                    model = getattr(rd, estimator)(mode=mode, random_state=0).fit(parts, y_train)
                    kept.append(float(np.abs(model.predict(test) - y_test).mean()))
            table.append(
                {"set": name, "estimator": estimator, **{mode: float(np.mean(e)) for mode, e in errors.items()}}
            )
    print(format_table(table))


if __name__ == "__main__":
    main()
