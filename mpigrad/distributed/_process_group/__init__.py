"""Process groups: collectives, point-to-point messages and their `Work` handles, directly on MPI.

Independent of RPC. `mpigrad.distributed` re-exports what is public; other packages import from there.
"""
