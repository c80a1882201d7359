# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.objects cimport sole, sole_bases, sole_item, sole_part
from mpigrad._core.tensor cimport TensorBase, wrap

@cython.locals(held=TensorBase)
cpdef add_to_grad(TensorBase leaf, grad, F, bint owned)
cpdef keep(grad, variable, bint owned)
cpdef bint owns_memory(grad) except? -1
@cython.locals(saved=tuple)
cpdef list take_saved(node)
cpdef bint _is_spare(tuple saved, Py_ssize_t place) except? -1
