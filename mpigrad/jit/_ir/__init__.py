"""The intermediate representation: graphs, types, schemas, and which operators have no side effects.

The lowest layer of the compiler; every other folder of `jit` imports from here.
"""
