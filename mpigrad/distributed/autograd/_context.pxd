# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._parts cimport Parts

cdef class DistAutogradContext:
    cdef public object context_id, lock, origins, released
    cdef public dict gradients, held, reached, reaches, recvs, roots, sends
    cdef public set known_workers, unseen
    cdef public Parts parts

    cpdef accumulate(self, variable, grad, F)
