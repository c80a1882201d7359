# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._context.container cimport Worker
from mpigrad.distributed.rpc._protocol.raw_message cimport RawMessage

cpdef bint release(Worker worker, context_id, told_by=*, floor=*) except? -1
cpdef _tell(Worker worker, rank, context_id)
@cython.locals(worker=Worker)
cpdef _send_release(tuple told)
@cython.locals(worker=Worker)
cpdef _handle(agent, RawMessage message)
cpdef _fail_joined_parts(DistAutogradContext context)
