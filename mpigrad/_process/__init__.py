"""The process: its rank from the launcher's environment, logging, BLAS threads, signals, and its end.

Nothing here initialises MPI. Only `signals.py` imports another part of the package (`_core/guard`); every part may import this.
"""
