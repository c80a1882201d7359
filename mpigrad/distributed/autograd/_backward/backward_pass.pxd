# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cdef class Pass:
    cdef public object F, captured, captures, code, initiator
    cdef public bint discard, keep
