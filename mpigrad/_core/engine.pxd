# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._core.nodes cimport Node
from mpigrad._core.wrapping cimport wrap

cdef class GraphTask:
    cdef public object F, captures, needed, sink
    cdef public dict buffers, captured, dependencies
    cdef public set own
    cdef public list ready
    cdef public bint keep

    cpdef feed(self, node, nr, grad)
    cpdef _sum(self, node, held, grad)
    cpdef run(self)
    cpdef run_alone(self)
    @cython.locals(node=Node, below=Node, ready=list, buffers=dict, dependencies=dict, edge=tuple, edges=tuple, leaves=list)
    cpdef _run(self, bint gpus)
    cpdef _end(self, Node leaf)

@cython.locals(counts=dict, stack=list, node=Node, edge=tuple)
cpdef dict count_dependencies(roots)
cpdef as_array(value)
