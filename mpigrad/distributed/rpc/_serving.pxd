# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
from mpigrad.distributed.rpc._calls cimport Calls

cdef class Serving(Calls):
    cdef public object epoch, _handled, _serving
