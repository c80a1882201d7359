# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class Pass:
    cdef public object F, captured, captures, code, discard, initiator, keep
