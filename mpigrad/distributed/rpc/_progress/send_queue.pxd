# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._mutex cimport Mutex

cdef class Sending:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object transport, outbox, _send_failed, _beat
    cdef public Mutex lock

    @cython.locals(lock=Mutex)
    cpdef post(self, dst, frame, follow, tag)
    @cython.locals(lock=Mutex)
    cpdef flush(self)
    cpdef _drain(self)
    @cython.locals(lock=Mutex)
    cpdef _poll(self, int tries)
