# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.guard cimport enter, leave
from mpigrad._core.node cimport edge_of
from mpigrad._core.tensor cimport TensorBase
from mpigrad._core.tensor cimport wrap
from mpigrad._core.autograd.backward_pass cimport Pass
from mpigrad._core.autograd.branch cimport Branch
from mpigrad._core.autograd.gradients cimport decode, encode
from mpigrad._core.autograd.initiator cimport RootBranch
from mpigrad._core.autograd.container cimport Worker, this_worker
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.partition cimport Parts, Source
from mpigrad._core.autograd.nodes cimport MessageGradients
from mpigrad._core.rpc.raw_message cimport RawMessage

cdef class DistEngine:
    cpdef int num_backward_passes(self) except? -1
    @cython.locals(worker=Worker, before=int)
    cpdef list execute(self, context_id, roots, bint retain_graph=*, bint create_graph=*, capture=*)
    @cython.locals(context=DistAutogradContext, edges=list, grads=list, branch=RootBranch, pass_=Pass)
    cpdef list _execute(self, Worker worker, context_id, roots, bint retain_graph, bint create_graph, capture)

cpdef _check_types(roots)
@cython.locals(root=TensorBase, edges=list)
cpdef list _edges_of(roots, bint leaves)
cpdef _ones_like(TensorBase root)
@cython.locals(
    worker=Worker, context=DistAutogradContext, pass_=Pass, parts=Parts, branch=Branch, begun_here=RootBranch, source=Source,
    single=MessageGradients, outgoing=dict)
cpdef _handle(agent, RawMessage message)
cpdef dict _run_independent(Worker worker, DistAutogradContext context, Pass pass_, Source source, grads)
