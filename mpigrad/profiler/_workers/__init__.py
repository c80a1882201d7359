"""A trace of all workers: each worker records its events, and one of them merges all on its own clock.

Imports RPC, whose instruments it uses. `mpigrad.profiler.trace_workers` loads it on first use.
"""
