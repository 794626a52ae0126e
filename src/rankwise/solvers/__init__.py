"""Solvers: they know an oracle, never an estimator."""
