# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.node cimport Node
from mpigrad._core.objects cimport sole

cdef class Path:
    cdef public Node _last
    cdef public list _steps, ends

    cpdef list nodes(self)
    @cython.locals(node=Node, end=Node, outs=list)
    cpdef run(self, F, bint keep, grads, sink)
    @cython.locals(last=Node)
    cpdef list _run_last(self, F, bint keep, grad)

@cython.locals(node=Node, below=Node, edge=tuple)
cpdef Path path_below(Node start)
@cython.locals(found=dict, end=Node, edge=tuple)
cpdef list _ends(Node node)
