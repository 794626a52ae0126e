"""What every estimator is built on: rows of features, and the contract of an estimator of ordered classes."""
