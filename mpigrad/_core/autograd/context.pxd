# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.guard cimport enter, leave
from mpigrad._core.mutex cimport Mutex
from mpigrad._core.accumulate cimport keep
from mpigrad._core.node cimport Node
from mpigrad._core.tensor cimport TensorBase, wrap
from mpigrad._core.autograd.partition cimport Parts, Source
from mpigrad._core.autograd.nodes cimport MessageGradients

cdef class DistAutogradContext:
    cdef public object context_id, origins
    cdef public dict gradients, joined, reached, recvs, roots, sends
    cdef public set known_workers
    cdef public object missing
    cdef public Mutex lock
    cdef public Parts parts
    cdef public bint released

    @cython.locals(held=TensorBase, before=int)
    cpdef accumulate(self, variable, grad, F, bint owned=*)
    @cython.locals(found=Source)
    cpdef Source source_of_roots(self, list edges)
    cpdef list joined_parts(self, pass_id=*)

cdef class Sink:
    cdef public object F
    cdef public DistAutogradContext context
    cdef public bint discard
    cdef public dict outgoing

    cpdef _leave(self, Node node, grad)
