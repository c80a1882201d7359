# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad._graph.engine cimport GraphTask
from mpigrad.distributed.autograd._context.context cimport DistAutogradContext
from mpigrad.distributed.autograd._graph.partition cimport Source
from mpigrad.distributed.autograd._backward.backward_pass cimport Pass
from mpigrad.distributed.autograd._context.context cimport Sink

cpdef list run_lone(DistAutogradContext context, Pass one, Source source, grads)
cpdef bint may_follow(Pass one, bint user_code) except? -1
