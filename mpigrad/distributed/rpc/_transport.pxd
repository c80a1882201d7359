# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
cdef class Transport:
    cdef dict __dict__
    cdef object __weakref__
