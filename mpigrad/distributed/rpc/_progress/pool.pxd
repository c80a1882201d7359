# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.rpc._progress.waiting cimport Waiting

cdef class Progress(Waiting):
    cdef public object limit, name, _serve, _monitor_role, _idle, _running, _finished, _finished_before, _stalled_since
    cdef public object _spawned

    cpdef run(self, work)
    cpdef _lead(self)
    cpdef bint _reserve(self) except? -1
    cpdef _next_job(self)
    cpdef bint _idle_leading(self, double now, double idle) except? -1
    cpdef bint _run_leading(self, work) except? -1
