# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
from mpigrad.distributed.rpc._sending cimport Sending

cdef class Waiting(Sending):
    cdef public object _receive, _housekeep, _next_housekeeping, _role, _wanting, _parked, _polled_by_waiter, _poller
    cdef public object _leader
    cdef public object _hot, _napping, _moving, _ticking, _jobs, _blocked, _threads, _stopping, _active, _burst
