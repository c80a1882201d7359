# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class Branch:
    cdef public object answer, context, ended, error, lock, on_end, one, pending, requester, worker
