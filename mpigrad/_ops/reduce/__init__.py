"""Operators that reduce dimensions: sums, products, extremes, norms, sorting, counting, statistics.

Imports `_define`, `create`, `elementwise`, `shape`, `linalg` and `index`.
"""
