"""Operators that compute element by element: arithmetic, comparisons, powers, rounding, special functions.

Imports `_define`.
"""
