# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.objects cimport new

cdef class TensorBase:
    cdef public object _array, _counter, _extra, _grad, _grad_fn, _nr, _requires, _view

cdef class GuestTensor(TensorBase):
    cdef public object adapter, description, tensor

cpdef GuestTensor guest(adapter, tensor, array, description, requires)

cdef type _Tensor

cpdef wrap(array)
cpdef wrap_as(cls, array)
@cython.locals(made=TensorBase)
cdef _plain(type cls, array)
