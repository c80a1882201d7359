# What has a fixed place in memory when the module is compiled; see docs/compiled.md.
cdef class Instruments:
    cdef public tuple active
