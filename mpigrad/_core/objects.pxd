# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cpdef new(type base, type cls)
cpdef bint sole(value)
cpdef bint sole_part(owner, str name) except? -1
cpdef bint sole_item(tuple items, Py_ssize_t place) except? -1
cpdef bint sole_bases(array) except? -1
cpdef unsigned long thread_id() noexcept

cdef class Mutex:
    cdef void *_lock
    cdef bint _taken

    cpdef bint acquire(self, bint blocking=*, double timeout=*) except -1
    cpdef release(self)
    cpdef bint locked(self)
    cdef bint _wait(self, double timeout) except -1
