"""Starting jobs: find the launcher that belongs to mpi4py, build its command, run it and pass signals on.

Imports `_process` only. The command line and `mpigrad.multiprocessing` start their ranks with it.
"""
