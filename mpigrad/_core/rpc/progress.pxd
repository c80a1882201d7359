# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.future cimport Future
from mpigrad._core.guard cimport deliver, enter, interrupted, leave, rest
from mpigrad._core.objects cimport Mutex
from mpigrad._core.rpc.transport cimport Transport

cdef class SendQueue:
    cdef object __weakref__
    cdef public Transport transport
    cdef public object outbox, polls, _handler
    cdef public Mutex lock

    @cython.locals(lock=Mutex)
    cpdef post(self, dst, frame, follow, tag)
    @cython.locals(lock=Mutex)
    cpdef flush(self)
    cpdef drain(self)
    @cython.locals(lock=Mutex)
    cpdef poll(self, int tries)

cdef class Lead:
    cdef public object wanted_by, parked, poller, leader
    cdef public bint polled_by_waiter, just_served, napping, ticking
    cdef public Mutex lock

    cpdef wake_parked(self)

cdef class Idle:
    cdef public double active, next_housekeeping, _moving
    cdef public int burst
    cdef public Transport _transport
    cdef public object _handler, _deferred
    cdef public Lead _lead

    cpdef run_when_idle(self, work, subject)
    cdef _run_deferred(self)
    cpdef back_off(self, double now, double idle, Future fut)
    cpdef housekeep(self, double now)

cpdef sleep_on(Future fut, lock, double seconds)

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
    cdef _run_leader(self)
    cdef bint _reserve(self) except? -1
    cdef _next_job(self)
    cdef bint _idle_leading(self, double now, double idle) except? -1
    cdef bint _run_leading(self, work) except? -1

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
    cdef bint _take_from_pool(self, Future fut) except? -1
    @cython.locals(lead=Lead)
    cpdef _leave(self)
    @cython.locals(lead=Lead, queue=SendQueue, idling=Idle)
    cdef _poll_until(self, Future fut, deadline)
    @cython.locals(lead=Lead, pool=Pool)
    cpdef bint _sleep(self, Future fut, deadline, bint handed_over) except? -1
