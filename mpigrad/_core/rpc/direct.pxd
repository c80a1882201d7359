# What has a fixed place in memory, and what C calls directly; see docs/compiled.md.
cdef class Direct:
    cdef object _mpi, _ring, _buffers
    cdef void *_isend
    cdef void *_test
    cdef void *_start
    cdef Py_ssize_t _byte, _comm
    cdef int _tag, _at, _count
    cdef void *_requests[64]

    cpdef send(self, frame, int dst)
    cpdef take(self, int tries)
    cdef _raise(self, int code)
