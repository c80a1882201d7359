# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.objects cimport new, sole, sole_bases, sole_item, sole_part
from mpigrad._core.tensor cimport TensorBase, wrap

@cython.locals(held=TensorBase)
cpdef add_to_grad(TensorBase leaf, grad, F, bint owned)
cpdef TensorBase grown(TensorBase held, grad)
cpdef keep(grad, variable, bint owned)
cpdef bint owns_memory(grad) except? -1
@cython.locals(saved=tuple)
cpdef list take_saved(node)
cdef bint _is_spare(tuple saved, Py_ssize_t place) except? -1

cdef long long _made
cpdef long long next_sequence() noexcept

cdef class Node:
    cdef public object edges, hooks, stack
    cdef public long long _sequence
    cdef object __weakref__

cdef class RecordedNode(Node):
    cdef public object kw, meta, saved, shapes, versions

cdef class AccumulateGrad(Node):
    cdef public object variable

    @cython.locals(leaf=TensorBase)
    cpdef take(self, F, grad, bint owned)

cpdef accumulator(TensorBase leaf)
@cython.locals(found=AccumulateGrad)
cdef _accumulator(TensorBase leaf)
cpdef tuple edge_of(TensorBase tensor)

@cython.locals(node=RecordedNode)
cpdef new_node(cls, edges, kw, shapes, saved, versions)
@cython.locals(node=RecordedNode)
cpdef record_one(cls, TensorBase made, TensorBase x, kw, shapes=*, place=*)
@cython.locals(node=RecordedNode, edges=tuple, s=TensorBase, t=TensorBase)
cpdef record_two(cls, TensorBase made, TensorBase a, TensorBase b, kw, tuple saves, shapes=*)
cdef object _version(TensorBase tensor)
