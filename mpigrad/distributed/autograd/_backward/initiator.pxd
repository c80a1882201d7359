# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.autograd._backward.branch cimport Branch
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._graph.partition cimport Source

cdef class RootBranch(Branch):
    cdef public object _future, _reach_id, _reach_over, over
    cdef public Source roots
    cdef public dict holders

    @cython.locals(context=DistAutogradContext, roots=Source)
    cpdef run_roots(self, list grads)
    @cython.locals(context=DistAutogradContext)
    cpdef take_answer(self, reply)
    cpdef _send_on(self, dict batches)
    cpdef fail(self, error)
    cpdef _end(self)
