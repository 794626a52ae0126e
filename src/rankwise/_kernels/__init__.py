"""Compiled row operations, dense and CSR; no knowledge of labels or algorithms."""
