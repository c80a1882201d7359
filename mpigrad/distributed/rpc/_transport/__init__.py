"""Transports: send frames and large arrays from rank to rank, over MPI or in memory (for tests).

The interface and the usual implementation are in `_core/rpc` (`transport.py`, `mpi.py`). Imports `_protocol`,
`distributed/_mpi` and `distributed/_gpu`. Terms (frame, transfer, offer, ...) are explained in docs/glossary.md.
"""
