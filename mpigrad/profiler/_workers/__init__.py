"""One trace of all workers: every worker notes what it does, one of them merges the notes on its own clock.

Imports RPC, whose instruments it uses. `mpigrad.profiler.trace_workers` loads it when it is first called.
"""
