"""Operators that make tensors: from data, filled, counting, random; and the constructors of old programs.

Imports `_define`.
"""
