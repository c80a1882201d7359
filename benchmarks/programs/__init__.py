"""The programs that are timed; each runs unchanged on torch and on mpigrad."""
