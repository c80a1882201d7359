# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.mutex cimport Mutex
from mpigrad._core.rpc.lead cimport Lead
from mpigrad._core.rpc.base cimport Transport
from mpigrad._core.future cimport Future

cdef class Idle:
    cdef public double active, next_housekeeping, _moving
    cdef public int burst
    cdef public Transport _transport
    cdef public object _handler, _deferred
    cdef public Lead _lead

    cpdef run_when_idle(self, work, subject)
    cpdef _run_deferred(self)
    cpdef back_off(self, double now, double idle, Future fut)
    cpdef housekeep(self, double now)

cpdef sleep_on(Future fut, lock, double seconds)
