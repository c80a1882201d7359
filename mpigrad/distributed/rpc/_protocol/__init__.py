"""The protocol: message types, the header of frames, errors, worker ids; and the hooks for other layers.

The lowest layer of RPC, without threads and without MPI. Through `extensions.py` other layers take part in messages.
Every other folder of RPC may import from here. Terms are explained in docs/glossary.md.
"""
