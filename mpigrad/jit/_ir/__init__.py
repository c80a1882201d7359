"""The intermediate representation: graphs, types, schemas; which operators and built-ins of Python a graph may call.

Imports the library below `jit` only; every other folder of `jit` imports from here.
"""
