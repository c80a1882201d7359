# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._context cimport DistAutogradContext
from mpigrad.distributed.autograd._worker cimport Worker

cpdef bint release(Worker worker, context_id, told_by=*, floor=*) except? -1
cpdef _fail_waiting(DistAutogradContext context)
