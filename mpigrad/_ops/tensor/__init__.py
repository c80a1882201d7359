"""What a tensor can do besides mathematics: convert, print, copy, pickle, save, answer questions, be filled.

Imports `_define`, `create`, `elementwise` and `linalg`.
"""
