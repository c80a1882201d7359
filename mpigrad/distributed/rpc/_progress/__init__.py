"""Progress: which thread polls MPI, which ones run functions, which ones sleep; and the send queue of the transport.

An agent has one `Progress`. This layer knows transports and futures but not the content of messages. The compiled parts (pool,
lead, waiting threads, send queue) are in `_core/rpc`.
"""
