"""Starts MPI jobs: finds the launcher that belongs to mpi4py, builds its command, runs it and forwards signals.

Imports `_process` only. The command line and `mpigrad.multiprocessing` start their ranks with it.
"""
