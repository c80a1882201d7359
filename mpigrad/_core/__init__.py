"""What is compiled when the package is installed; see `mpigrad/_compiled.py`."""
