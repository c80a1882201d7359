# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.node cimport edge_of
from mpigrad._core.tensor cimport TensorBase

cdef class MessageGradients:
    cdef public object grads, message_id

@cython.locals(tensor=TensorBase, metas=list)
cpdef list _attach(node, tensors)
