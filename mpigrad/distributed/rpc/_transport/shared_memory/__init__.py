"""Large arrays between ranks of one host: offers, slots in shared memory, and cross-memory attach.

Used by `_core/rpc/mpi.py`; `mpigrad doctor` tries it out. Imports `_protocol` and `_core/rpc/base.py`.
"""
