# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._mutex cimport Mutex
from mpigrad.distributed.rpc._progress.send_queue cimport Sending
from mpigrad.futures._future cimport Future

cdef class Waiting(Sending):
    cdef public object _receive, _housekeep, _wanting, _parked, _poller, _leader, _jobs, _later, _blocked
    cdef public double _next_housekeeping, _moving, _active
    cdef public bint _polled_by_waiter, _hot, _napping, _ticking, _stopping
    cdef public Mutex _role
    cdef public dict _threads
    cdef public int _burst

    @cython.locals(role=Mutex)
    cpdef wait(self, Future fut, deadline)
    cpdef later(self, work, subject)
    cpdef _work_off(self)
    cpdef _leave_role(self)
    cpdef _wake_parked(self)
    cpdef bint _take_from_pool(self, Future fut) except? -1
    cpdef bint _poll_until(self, Future fut, deadline) except? -1
    cpdef bint _sleep(self, Future fut, deadline, bint handed_over) except? -1
    cpdef _rest(self, double now, double idle, Future fut)
    cpdef _keep_house(self, double now)
