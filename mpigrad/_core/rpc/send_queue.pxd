# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.mutex cimport Mutex
from mpigrad._core.rpc.base cimport Transport

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
