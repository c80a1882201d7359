"""Operators of recurrent layers: each runs a whole sequence, forwards and backwards.

Imports `_ops` and `_graph`. Only the recurrent modules beside it use them.
"""
