"""Solvers: each knows an oracle of its problem, never an estimator, and says how good its answer is."""
