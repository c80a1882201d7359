"""Operators of recurrent layers: each a whole sequence, forwards and backwards."""
