"""This process: its rank as the launcher tells it, its log lines, its BLAS threads.

Nothing here initialises MPI, and nothing here imports the rest of the package. Everything may import from the files here.
"""
