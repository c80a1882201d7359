"""Scripted functions and modules in files: archives, saving, loading, and verification of loaded graphs.

Imports `_ir`, `_codegen` and `_frontend`.
"""
