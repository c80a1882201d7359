# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._core.node cimport edge_of
from mpigrad._tensor cimport Tensor

cdef class MessageGradients:
    cdef public object grads, message_id

@cython.locals(tensor=Tensor, metas=list)
cpdef list _attach(node, tensors)
