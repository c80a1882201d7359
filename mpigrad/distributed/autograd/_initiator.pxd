# Attributes that have a fixed place in memory when the module is compiled; there are no others.
from mpigrad.distributed.autograd._branch cimport Branch

cdef class Initiated(Branch):
    cdef public object _future, _reach_done, _reach_id, holders, over, roots
