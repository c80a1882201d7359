# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.tensor cimport TensorBase
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.container cimport Worker
from mpigrad._core.rpc.agent cimport Agent

cpdef _walk(DistAutogradContext context)
@cython.locals(tensor=TensorBase, needing=list)
cpdef list _needing(tensors)
cpdef record_send(DistAutogradContext context, message_id, tensors)
cpdef record_recv(DistAutogradContext context, src, message_id, tensors)

cdef class _Interceptor:
    @cython.locals(context=DistAutogradContext, worker=Worker)
    cpdef on_send(self, Agent agent, dst, tensors)
    @cython.locals(context=DistAutogradContext, worker=Worker)
    cpdef DistAutogradContext on_receive(self, Agent agent, src, context_id, message_id, tensors)
