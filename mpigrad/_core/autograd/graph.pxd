# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.engine cimport GraphTask
from mpigrad._core.objects cimport Mutex
from mpigrad._core.node cimport Node, edge_of, next_sequence
from mpigrad._core.objects cimport sole
from mpigrad._core.tensor cimport TensorBase

cdef class MessageGradients:
    cdef public object grads, message_id

@cython.locals(tensor=TensorBase, metas=list)
cdef list _attach(node, tensors)

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
cdef list _ends(Node node)

cdef class Source:
    cdef public object _counts, _hooks, below, foreign, given, guests, message_id, reach_id
    cdef public list _edges, nodes
    cdef public int inputs
    cdef public Path path
    cdef public dict ran
    cdef public bint _needs_task, _user_code

    cpdef bint runs_user_code(self) except? -1
    cpdef bint needs_task(self) except? -1
    @cython.locals(node=Node)
    cdef bint _has_hooks(self) except? -1
    @cython.locals(edges=list)
    cpdef feed(self, GraphTask task, grads, entry=*)
    cpdef list recvs(self)
    @cython.locals(node=Node, found=list)
    cpdef list shared(self)

cdef class Parts:
    cdef public object _hooks, _new
    cdef public Mutex _lock
    cdef public dict _joined, _sends, sources, _owner, _together
    cdef public bint _user_code

    cpdef add(self, message_id)
    cpdef catch_up(self)
    cpdef _walk(self, message_id)
    cpdef bint runs_user_code(self) except? -1
    cpdef update(self)
    cdef _look_at(self, Source source)
    cpdef list sharing_with(self, Source roots)
    cpdef bint claim_independent(self, Source source, pass_id) except? -1
    cpdef Source source_for(self, message_id, grads)
    cpdef Source source(self, message_id)
