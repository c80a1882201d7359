# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._branch cimport Branch
from mpigrad.distributed.autograd._parts cimport Source

cdef class Initiated(Branch):
    cdef public object _future, _reach_id
    cdef public bint _reach_done, over
    cdef public Source roots
    cdef public dict holders

    cpdef _end_if_over(self)
