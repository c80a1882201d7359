# What has a fixed place in memory, and what C calls directly; see docs/compiled.md.
cdef class Mutex:
    cdef void *_lock
    cdef bint _taken

    cpdef bint acquire(self, bint blocking=*, double timeout=*) except -1
    cpdef release(self)
    cpdef bint locked(self)
    cdef bint _wait(self, double timeout) except -1
