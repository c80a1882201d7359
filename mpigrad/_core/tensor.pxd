# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.objects cimport new

cdef class TensorBase:
    cdef public object _array, _counter, _extra, _grad, _grad_fn, _nr, _requires, _view

cdef type _Tensor

@cython.locals(made=TensorBase)
cpdef wrap(array)
@cython.locals(made=TensorBase)
cpdef wrap_as(cls, array)
