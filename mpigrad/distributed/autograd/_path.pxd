# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class Path:
    cdef public object _last, _steps, ends
