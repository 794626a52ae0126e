"""The estimators on Dask."""

from rankwise import large_margin as _large_margin
from rankwise.dask._batch import BatchOnDask as _Batch


class SVOR(_Batch, _large_margin.SVOR, abstract=True):
    plain = _large_margin.SVOR


class VILMA(_Batch, _large_margin.VILMA, abstract=True):
    plain = _large_margin.VILMA


class MORD(_Batch, _large_margin.MORD, abstract=True):
    plain = _large_margin.MORD


class PiecewiseMORD(_Batch, _large_margin.PiecewiseMORD, abstract=True):
    plain = _large_margin.PiecewiseMORD


from rankwise import perceptrons as _perceptrons, label_ranking as _label_ranking
from rankwise.dask._online import OnlineOnDask as _Online


class PRank(_Online, _perceptrons.PRank, abstract=True):
    plain = _perceptrons.PRank


class PRIL(_Online, _perceptrons.PRIL, abstract=True):
    plain = _perceptrons.PRIL


class MultiplicativePRIL(_Online, _perceptrons.MultiplicativePRIL, abstract=True):
    plain = _perceptrons.MultiplicativePRIL


class CuSumRank(_Online, _perceptrons.CuSumRank, abstract=True):
    plain = _perceptrons.CuSumRank


class ImportanceWeightedPerceptron(_Online, _perceptrons.ImportanceWeightedPerceptron, abstract=True):
    plain = _perceptrons.ImportanceWeightedPerceptron


class LabelRanker(_Online, _label_ranking.LabelRanker, abstract=True):
    plain = _label_ranking.LabelRanker
