# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
from mpigrad.distributed.rpc._serving cimport Serving

cdef class Agent(Serving):
    pass
