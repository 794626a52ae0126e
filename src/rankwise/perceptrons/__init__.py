"""Online estimators: one algorithm, one file."""

from rankwise.perceptrons.cusum import CuSumRank
from rankwise.perceptrons.kernel_cusum import KernelCuSumRank
from rankwise.perceptrons.kernel_pril import KernelPRIL
from rankwise.perceptrons.multiclass import ImportanceWeightedPerceptron, MulticlassPerceptron
from rankwise.perceptrons.multiplicative import MultiplicativePRIL
from rankwise.perceptrons.pril import PRIL, PRank
from rankwise.perceptrons.widrow_hoff import WidrowHoff

__all__ = [
    "PRIL",
    "CuSumRank",
    "ImportanceWeightedPerceptron",
    "KernelCuSumRank",
    "KernelPRIL",
    "MulticlassPerceptron",
    "MultiplicativePRIL",
    "PRank",
    "WidrowHoff",
]
