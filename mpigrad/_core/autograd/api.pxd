# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.autograd.container cimport Worker

cdef class context:
    cdef dict __dict__
    cdef object __weakref__
    cdef public Worker _worker
    cdef public DistAutogradContext autograd_context
