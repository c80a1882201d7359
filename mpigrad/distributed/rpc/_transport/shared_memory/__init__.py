"""Large arrays between ranks of one host: slots in shared memory, through which offers are copied by cross-memory attach.

Used by `_core/rpc/mpi.py`; `mpigrad doctor` checks whether it works.
"""
