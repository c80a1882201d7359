# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.mutex cimport Mutex
from mpigrad._core.autograd.backward_pass cimport Pass
from mpigrad._core.autograd.gradients cimport decode, encode
from mpigrad._core.autograd.container cimport Worker
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.partition cimport Parts, Source
from mpigrad._core.autograd.nodes cimport MessageGradients

cdef class Branch:
    cdef public Worker worker
    cdef public DistAutogradContext context
    cdef public Pass pass_
    cdef public object ended, error, on_end, pending, requester
    cdef public Mutex lock
    cdef public list answer

    cpdef finish(self, dict outgoing)
    @cython.locals(source=Source, context=DistAutogradContext, parts=Parts, pass_=Pass, gradients=MessageGradients)
    cpdef dict process(self, list batch)
    cpdef dict route(self, dict outgoing)
    cpdef _sort(self, dict outgoing, list here, dict elsewhere)
    @cython.locals(context=DistAutogradContext, pass_=Pass)
    cpdef send(self, rank, list batch, then=*)
    cpdef list answered_gradients(self, reply)
    cpdef fail(self, error)
    cpdef settle(self)
    cpdef _end(self)
    cpdef reply(self)
    cpdef result(self)
