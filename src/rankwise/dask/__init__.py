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
