# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad._mutex cimport Mutex

cdef class Lead:
    cdef public object wanting, parked, poller, leader
    cdef public bint polled_by_waiter, hot, napping, ticking
    cdef public Mutex role

    cpdef wake_parked(self)
