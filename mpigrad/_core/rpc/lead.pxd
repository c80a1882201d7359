# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.mutex cimport Mutex

cdef class Lead:
    cdef public object wanted_by, parked, poller, leader
    cdef public bint polled_by_waiter, just_served, napping, ticking
    cdef public Mutex lock

    cpdef wake_parked(self)
