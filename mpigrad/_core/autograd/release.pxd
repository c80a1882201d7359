# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.container cimport Worker
from mpigrad._core.rpc.raw_message cimport RawMessage

cpdef bint release(Worker worker, context_id, told_by=*, floor=*) except? -1
cpdef _tell(Worker worker, rank, context_id)
@cython.locals(worker=Worker)
cpdef _send_release(tuple told)
@cython.locals(worker=Worker)
cpdef _handle(agent, RawMessage message)
cpdef _fail_joined_parts(DistAutogradContext context)
