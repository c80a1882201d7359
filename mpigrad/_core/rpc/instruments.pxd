# What has a fixed place in memory when the module is compiled; see mpigrad/_compiled.py.
cdef class Instruments:
    cdef public tuple active
