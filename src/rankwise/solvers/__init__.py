"""Optimisation: solvers know a problem through the few functions it gives them, never an estimator."""
