# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class GraphTask:
    cdef public object F, buffers, captured, captures, dependencies, keep, needed, own, ready, sink
