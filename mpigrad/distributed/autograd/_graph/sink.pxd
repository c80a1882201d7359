# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._ends cimport RecvRpcBackward

cdef class Sink:
    cdef public object F
    cdef public DistAutogradContext context
    cdef public bint discard
    cdef public list outgoing

    cpdef _leave(self, RecvRpcBackward node, grad)
