# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._graph.engine cimport GraphTask
from mpigrad._graph.node cimport edge_of
from mpigrad._tensor cimport Tensor
from mpigrad._wrapping cimport wrap
from mpigrad.distributed.autograd._backward.branch cimport Branch
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._ends cimport RecvRpcBackward
from mpigrad.distributed.autograd._backward.gradients cimport decode, encode
from mpigrad.distributed.autograd._backward.independent cimport may_follow, run_lone
from mpigrad.distributed.autograd._graph.partition cimport Parts, Source
from mpigrad.distributed.autograd._backward.backward_pass cimport Pass
from mpigrad.distributed.autograd._context.context cimport Sink
from mpigrad.distributed.autograd._context.container cimport Worker
from mpigrad.distributed.rpc._protocol.frame cimport RawMessage

cdef class DistEngine:
    cpdef int num_backward_passes(self) except? -1
    @cython.locals(worker=Worker)
    cpdef list execute(self, context_id, roots, bint retain_graph=*, bint create_graph=*, capture=*)
    @cython.locals(context=DistAutogradContext, edges=list, grads=list, started=Branch, one=Pass, source=Source)
    cpdef list _execute(self, Worker worker, context_id, roots, bint retain_graph, bint create_graph, capture)

cpdef Source _source(DistAutogradContext context, list edges)
cpdef _check_types(roots)
@cython.locals(root=Tensor, edges=list)
cpdef list _checked(roots, bint leaves)
cpdef _one(Tensor root)
@cython.locals(context=DistAutogradContext)
cpdef _go_on(Branch started, reply)
cpdef _send(Branch started, dict batches)
cpdef list _run_roots(DistAutogradContext context, Pass one, Source roots, list edges, list grads)
@cython.locals(worker=Worker, context=DistAutogradContext, one=Pass, parts=Parts, branch=Branch)
cpdef _handle(agent, RawMessage message)
@cython.locals(recv=RecvRpcBackward)
cpdef bint _only_to(rank, list outgoing) except? -1
cpdef list _run_one(Worker worker, DistAutogradContext context, Pass one, tuple item)
cpdef _answer(Branch branch)
