# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.autograd.contexts cimport DistAutogradContext, Worker, this_worker
from mpigrad._core.autograd.graph cimport MessageGradients, Parts, Source
from mpigrad._core.autograd.passes cimport Branch, Pass, decode, encode
from mpigrad._core.guard cimport enter, leave
from mpigrad._core.node cimport edge_of
from mpigrad._core.rpc.agent cimport RawMessage
from mpigrad._core.tensor cimport TensorBase, wrap

cdef class RootBranch(Branch):
    cdef public object _future, _reach_id, _reach_over, over
    cdef public Source roots
    cdef public dict holders

    @cython.locals(context=DistAutogradContext, roots=Source)
    cpdef run_roots(self, list grads)
    @cython.locals(context=DistAutogradContext)
    cpdef take_answer(self, reply)
    cdef _send_on(self, dict batches)
    cpdef fail(self, error)
    cpdef _end(self)

cdef class DistEngine:
    cpdef int num_backward_passes(self) except? -1
    @cython.locals(worker=Worker, before=int)
    cpdef list execute(self, context_id, roots, bint retain_graph=*, bint create_graph=*, capture=*)
    @cython.locals(context=DistAutogradContext, edges=list, grads=list, branch=RootBranch, pass_=Pass)
    cpdef list _execute(self, Worker worker, context_id, roots, bint retain_graph, bint create_graph, capture)

cdef _check_types(roots)
@cython.locals(root=TensorBase, edges=list)
cdef list _edges_of(roots, bint leaves)
cdef _ones_like(TensorBase root)
@cython.locals(
    worker=Worker, context=DistAutogradContext, pass_=Pass, parts=Parts, branch=Branch, begun_here=RootBranch, source=Source,
    single=MessageGradients, outgoing=dict)
cpdef _handle(agent, RawMessage message)
cdef dict _run_independent(Worker worker, DistAutogradContext context, Pass pass_, Source source, grads)

cdef class context:
    cdef dict __dict__
    cdef object __weakref__
    cdef public Worker _worker
    cdef public DistAutogradContext autograd_context
