# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._mutex cimport Mutex

cdef class SendQueue:
    cdef object __weakref__
    cdef public object transport, outbox, polls, _handler
    cdef public Mutex lock

    @cython.locals(lock=Mutex)
    cpdef post(self, dst, frame, follow, tag)
    @cython.locals(lock=Mutex)
    cpdef flush(self)
    cpdef drain(self)
    @cython.locals(lock=Mutex)
    cpdef poll(self, int tries)
