# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.mutex cimport Mutex
from mpigrad._core.rpc.idle cimport Idle
from mpigrad._core.rpc.lead cimport Lead
from mpigrad._core.rpc.send_queue cimport SendQueue

cdef class Pool:
    cdef object __weakref__
    cdef public object limit, name, jobs, blocked, _handler, _sleeping, _running, _finished, _finished_before, _stalled_since
    cdef public object _spawned
    cdef public dict threads
    cdef public bint stopping
    cdef public list _thread_hooks
    cdef public SendQueue _queue
    cdef public Lead _lead
    cdef public Idle _idle
    cdef public Mutex _monitor_role

    cpdef bint owns_thread(self) except? -1
    cpdef bint submit(self, work) except? -1
    cpdef bint wake_worker(self) except? -1
    cpdef ensure_monitor(self)
    cpdef enqueue(self, work)
    cpdef run(self, work)
    cpdef _run_leader(self)
    cpdef bint _reserve(self) except? -1
    cpdef _next_job(self)
    cpdef bint _idle_leading(self, double now, double idle) except? -1
    cpdef bint _run_leading(self, work) except? -1
