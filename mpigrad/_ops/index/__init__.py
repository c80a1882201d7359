"""Operators that read and write by index: `x[...]`, gather, scatter, masks, index_add, flip and roll.

Imports `_define` and `shape`.
"""
