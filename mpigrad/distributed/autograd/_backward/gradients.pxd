# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.autograd._backward.backward_pass cimport Pass
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._nodes cimport MessageGradients

@cython.locals(single=MessageGradients)
cpdef tuple encode(batch, DistAutogradContext context, Pass pass_)
cpdef list decode(body, arrays, src, DistAutogradContext context, Pass pass_)
