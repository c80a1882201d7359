# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._context cimport DistAutogradContext
from mpigrad.distributed.autograd._parts cimport Source
from mpigrad.distributed.autograd._pass cimport Pass
from mpigrad.distributed.autograd._worker cimport Worker

cdef class Branch:
    cdef public Worker worker
    cdef public DistAutogradContext context
    cdef public Pass one
    cdef public object ended, error, lock, on_end, pending, requester
    cdef public list answer

    cpdef dict process(self, list items)
    cpdef dict sorted(self, list outgoing)
    cpdef _sort(self, list outgoing, list here, dict elsewhere)
    cpdef ask(self, rank, list items, then=*)
    cpdef list answers(self, reply)
