"""The front end: scripted functions and modules, their names, members and marks.

Imports `_ir`, `_lower` and `_codegen`. `mpigrad.jit` re-exports what is public.
"""
