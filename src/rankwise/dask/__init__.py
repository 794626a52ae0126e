"""The estimators on Dask, for data that outgrow one machine: same names, parameters and fitted attributes.

``fit`` takes a Dask array, a Dask dataframe (Parquet files) or a list of delayed blocks (CSR matrices); predictions for
them are lazy Dask arrays. Dask schedules, moves and recovers; tasks here are pure functions, so that losing a worker
changes nothing but the time.

=======================================================  ===========================================================
SVOR, VILMA, MORD, PiecewiseMORD, UnifiedClassifier,     rows stay on the workers; a step of the solver is a sum over
CumulativeLink, RoundedRegression,                       blocks; objective and certificate of one machine
MissingLabelClassifier
PRank, PRIL, MultiplicativePRIL, CuSumRank,              partitions in turn (``mode="sequential"``), or side by side
ImportanceWeightedPerceptron, LabelRanker,               from a shared model (``mode="mixing"``)
OnlineCumulativeLink
BoostedThresholds                                        one long task on each worker; LightGBM adds up histograms, we
                                                         the sums for the thresholds; a lost worker is an error
=======================================================  ===========================================================

Tasks run on the current ``dask.distributed.Client``; without one, in threads of this machine. ``to_local`` gives the
fitted plain estimator, which needs no Dask to predict; :func:`rankwise.save` stores that.

No other package of rankwise imports Dask. Without it: ``pip install 'rankwise[dask]'``.
"""

from rankwise._extras import require

require("dask", "rankwise.dask needs Dask: pip install 'rankwise[dask]'")

from rankwise.dask.estimators import (
    MORD,
    PRIL,
    SVOR,
    VILMA,
    BoostedThresholds,
    CumulativeLink,
    CuSumRank,
    ImportanceWeightedPerceptron,
    LabelRanker,
    MissingLabelClassifier,
    MultiplicativePRIL,
    OnlineCumulativeLink,
    PiecewiseMORD,
    PRank,
    RoundedRegression,
    UnifiedClassifier,
)

__all__ = [
    "MORD",
    "PRIL",
    "SVOR",
    "VILMA",
    "BoostedThresholds",
    "CuSumRank",
    "CumulativeLink",
    "ImportanceWeightedPerceptron",
    "LabelRanker",
    "MissingLabelClassifier",
    "MultiplicativePRIL",
    "OnlineCumulativeLink",
    "PRank",
    "PiecewiseMORD",
    "RoundedRegression",
    "UnifiedClassifier",
]
