# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.guard cimport enter, leave, resume, suspend

cdef class Future:
    cdef object __weakref__
    cdef public object _callbacks, _sleepers, _value
    cdef public int _state
    cdef public bint _foreign, _given_error

    cpdef _set(self, int state, value)
    cpdef _finish(self, int state, value)
    cpdef _add(self, callback)
    cpdef _run_callbacks(self)
    cpdef _call_callbacks(self)
    @cython.locals(before=int)
    cpdef _call(self, callback)
    cpdef _sleep(self, lock)
    cpdef _wake(self)
    cpdef _block(self, deadline)


cpdef carried(callback)
