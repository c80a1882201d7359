# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cdef class Sending:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object transport, lock, outbox, _send_failed, _beat

    cpdef post(self, dst, frame, follow, tag)
    cpdef flush(self)
    cpdef _drain(self)
    cpdef _poll(self, int tries)
