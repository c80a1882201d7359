"""The front end: `script`, scripted functions and modules, decorators.

Imports `_ir`, `_lower` and `_codegen`. `mpigrad.jit` re-exports what is public.
"""
