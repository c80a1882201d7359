"""Transports: how frames and the large arrays behind them get from rank to rank, over MPI or in memory.

`base.py` has the contract, `mpi.py` the usual implementation. Imports `_protocol`, `distributed/_mpi` and `distributed/_gpu`.
"""
