# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.guard cimport deliver, enter, interrupted, leave, rest
from mpigrad._core.mutex cimport Mutex
from mpigrad._core.rpc.idle cimport Idle
from mpigrad._core.rpc.lead cimport Lead
from mpigrad._core.rpc.pool cimport Pool
from mpigrad._core.rpc.send_queue cimport SendQueue
from mpigrad._core.future cimport Future

cdef class Waiters:
    cdef public object _handler
    cdef public SendQueue _queue
    cdef public Lead _lead
    cdef public Idle _idle
    cdef public Pool _pool

    @cython.locals(before=int, ended=bint)
    cpdef wait(self, Future fut, deadline)
    @cython.locals(lock=Mutex)
    cpdef bint _wait(self, Future fut, deadline) except? -1
    @cython.locals(lead=Lead)
    cpdef bint _take_from_pool(self, Future fut) except? -1
    @cython.locals(lead=Lead)
    cpdef _leave(self)
    @cython.locals(lead=Lead, queue=SendQueue, idling=Idle)
    cpdef _poll_until(self, Future fut, deadline)
    @cython.locals(lead=Lead, pool=Pool)
    cpdef bint _sleep(self, Future fut, deadline, bint handed_over) except? -1
