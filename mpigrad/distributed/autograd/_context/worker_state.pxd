# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._context.container cimport Container
from mpigrad.distributed.rpc._agent.agent cimport Agent

cdef class Worker:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object worker_id
    cdef public Agent agent
    cdef public Container container
    cdef public set live, releasing
    cdef public dict initiated

    cpdef bint serves(self) except? -1

cpdef Worker worker()
