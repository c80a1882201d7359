# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._mutex cimport Mutex
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._ends cimport RecvRpcBackward
from mpigrad.distributed.autograd._backward.gradients cimport decode, encode
from mpigrad.distributed.autograd._backward.independent cimport run_lone
from mpigrad.distributed.autograd._graph.partition cimport Parts, Source
from mpigrad.distributed.autograd._backward.backward_pass cimport Pass
from mpigrad.distributed.autograd._context.container cimport Worker

cdef class Branch:
    cdef public Worker worker
    cdef public DistAutogradContext context
    cdef public Pass one
    cdef public object ended, error, on_end, pending, requester
    cdef public Mutex lock
    cdef public list answer

    @cython.locals(source=Source, context=DistAutogradContext, parts=Parts)
    cpdef dict process(self, list items)
    cpdef dict sorted(self, list outgoing)
    @cython.locals(recv=RecvRpcBackward)
    cpdef _sort(self, list outgoing, list here, dict elsewhere)
    cpdef ask(self, rank, list items, then=*)
    cpdef list answers(self, reply)
    cpdef fail(self, error)
    cpdef settle(self)
