"""Operators that change shapes: reshape, transpose, slices, strides, broadcasting, joining, padding.

Imports `_define` and `elementwise`.
"""
