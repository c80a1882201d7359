# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.node cimport owns_memory
from mpigrad._core.node cimport AccumulateGrad, Node
from mpigrad._core.objects cimport sole
from mpigrad._core.tensor cimport wrap

cdef class GraphTask:
    cdef public object F, captures, needed, ordered, sink
    cdef public dict buffers, captured, dependencies
    cdef public set own
    cdef public list ready
    cdef public bint keep

    cpdef start(self, Node node)
    cpdef feed(self, node, nr, grad)
    cpdef _sum(self, node, held, grad)
    cdef _sum_alone(self, node, held, grad, bint alone)
    cpdef run(self)
    cpdef run_alone(self)
    @cython.locals(node=Node, below=Node, ready=list, buffers=dict, dependencies=dict, edge=tuple, edges=tuple, leaves=list)
    cpdef _run(self, bint gpus)
    cdef _run_node(self, Node node, grad)
    cpdef _end(self, Node leaf)

cdef bint _is_later(Node one, Node other) except? -1
@cython.locals(place=Py_ssize_t, above=Py_ssize_t, other=Node)
cdef _push(list heap, Node node)
@cython.locals(place=Py_ssize_t, below=Py_ssize_t, size=Py_ssize_t, first=Node, last=Node, other=Node)
cdef Node _pop(list heap)
@cython.locals(counts=dict, stack=list, node=Node, edge=tuple)
cpdef dict count_dependencies(roots)
cpdef as_array(value)
