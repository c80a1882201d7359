"""Tests on several ranks with pytest: a job of ranks that each run pytest, and one verdict for each test.

`pytest_mpigrad`, the plugin that pytest loads, imports this package when `--mpigrad` is given.
"""
