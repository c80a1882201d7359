# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class Sink:
    cdef public object F, context, discard, outgoing
