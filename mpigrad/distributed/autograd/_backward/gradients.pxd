# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._backward.backward_pass cimport Pass

cpdef tuple encode(items, DistAutogradContext context, Pass one)
cpdef list decode(body, arrays, src, DistAutogradContext context, Pass one)
