# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.autograd.branch cimport Branch
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.partition cimport Source

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
