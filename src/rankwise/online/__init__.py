"""Online estimators: one algorithm, one file."""

from rankwise.online.cusum import CuSumRank
from rankwise.online.kernel_cusum import KernelCuSumRank
from rankwise.online.kernel_pril import KernelPRIL
from rankwise.online.multiclass import ImportanceWeightedPerceptron, MulticlassPerceptron
from rankwise.online.multiplicative import MultiplicativePRIL
from rankwise.online.online_cumulative_link import OnlineCumulativeLink
from rankwise.online.pril import PRIL, PRank
from rankwise.online.widrow_hoff import WidrowHoff

__all__ = [
    "PRIL",
    "CuSumRank",
    "ImportanceWeightedPerceptron",
    "KernelCuSumRank",
    "KernelPRIL",
    "MulticlassPerceptron",
    "MultiplicativePRIL",
    "OnlineCumulativeLink",
    "PRank",
    "WidrowHoff",
]
