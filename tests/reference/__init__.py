"""Slow plain twins of the compiled algorithms, written from the mathematics and nothing else."""
