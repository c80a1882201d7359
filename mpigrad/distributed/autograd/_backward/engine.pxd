# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._core.node cimport edge_of
from mpigrad._tensor cimport Tensor
from mpigrad._core.wrapping cimport wrap
from mpigrad.distributed.autograd._backward.backward_pass cimport Pass
from mpigrad.distributed.autograd._backward.branch cimport Branch
from mpigrad.distributed.autograd._backward.gradients cimport decode, encode
from mpigrad.distributed.autograd._backward.initiator cimport RootBranch
from mpigrad.distributed.autograd._context.container cimport Worker, this_worker
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._graph.partition cimport Parts, Source
from mpigrad.distributed.autograd._nodes cimport MessageGradients
from mpigrad.distributed.rpc._protocol.raw_message cimport RawMessage

cdef class DistEngine:
    cpdef int num_backward_passes(self) except? -1
    @cython.locals(worker=Worker)
    cpdef list execute(self, context_id, roots, bint retain_graph=*, bint create_graph=*, capture=*)
    @cython.locals(context=DistAutogradContext, edges=list, grads=list, branch=RootBranch, pass_=Pass)
    cpdef list _execute(self, Worker worker, context_id, roots, bint retain_graph, bint create_graph, capture)

cpdef _check_types(roots)
@cython.locals(root=Tensor, edges=list)
cpdef list _edges_of(roots, bint leaves)
cpdef _ones_like(Tensor root)
@cython.locals(
    worker=Worker, context=DistAutogradContext, pass_=Pass, parts=Parts, branch=Branch, begun_here=RootBranch, source=Source,
    single=MessageGradients, outgoing=dict)
cpdef _handle(agent, RawMessage message)
cpdef dict _run_independent(Worker worker, DistAutogradContext context, Pass pass_, Source source, grads)
