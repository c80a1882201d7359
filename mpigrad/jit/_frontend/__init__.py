"""The front end: scripted functions and modules, decorators and interfaces.

Imports `_ir`, `_lower` and `_codegen`; `f.save()` imports `_files`. `mpigrad.jit` re-exports the public names.
"""
