"""What is minimised: weighted means of losses of scores and thresholds against labels, given to solvers.

A risk states its sums over rows as functions for :class:`rankwise.solvers.row_sums.RowSums`; estimators, trees, streams
and Dask share it.
"""
