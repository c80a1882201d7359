"""The protocol: message types, the bytes of frames, errors, worker ids, names of functions; and what other layers plug into RPC.

The lowest layer of RPC, without threads and without MPI. `extensions.py` and `instruments.py` are where other layers
take part in messages or watch them. Every other folder of RPC may import from here.
"""
