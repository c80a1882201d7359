# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.engine cimport GraphTask
from mpigrad._core.guard cimport resume, suspend
from mpigrad._core.autograd.context cimport DistAutogradContext, Sink
from mpigrad._core.autograd.partition cimport Source
from mpigrad._core.autograd.path cimport Path

cdef class Pass:
    cdef public object F, captured, captures, id, initiator, thread
    cdef public bint discard, keep

    @cython.locals(sink=Sink, path=Path, task=GraphTask, before=int)
    cpdef dict run(self, DistAutogradContext context, Source source, grads)
    @cython.locals(suspended=int)
    cpdef run_task(self, GraphTask task, bint user_code)
    cpdef _run_task(self, GraphTask task, bint user_code)
