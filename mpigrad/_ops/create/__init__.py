"""Operators that create tensors: from data, filled, ranges, random; and PyTorch's legacy constructors.

Imports `_define`.
"""
