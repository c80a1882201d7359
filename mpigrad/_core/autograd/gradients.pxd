# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.autograd.backward_pass cimport Pass
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.nodes cimport MessageGradients

@cython.locals(single=MessageGradients)
cpdef tuple encode(batch, DistAutogradContext context, Pass pass_)
cpdef list decode(body, arrays, src, DistAutogradContext context, Pass pass_)
