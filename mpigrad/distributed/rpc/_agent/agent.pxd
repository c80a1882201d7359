# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.rpc._agent.server cimport Serving

cdef class Agent(Serving):
    pass
