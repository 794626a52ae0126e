"""Solvers: each sees an oracle of its problem, never an estimator, and certifies its solution."""
