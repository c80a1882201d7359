"""Process groups: collectives, point-to-point messages and their `Work` handles, directly on MPI.

Independent of RPC. `mpigrad.distributed` re-exports the public names; other packages import from there. In all files,
`found` is the `ProcessGroup` for an argument `group`. Terms are explained in docs/glossary.md.
"""
