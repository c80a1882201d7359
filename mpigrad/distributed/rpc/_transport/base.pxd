# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cdef class Transport:
    cdef dict __dict__
    cdef object __weakref__

cpdef list transfer_sizes(frame)
cpdef tuple origin_of(frame)
