"""The protocol: message types, headers, frames, errors, worker ids, names of functions, and extension points.

The lowest layer of RPC: pure data, no threads and no MPI. Every other folder of RPC may import from here.
"""
