# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.mutex cimport Mutex
from mpigrad._core.autograd.context cimport DistAutogradContext
from mpigrad._core.rpc.agent cimport Agent

cdef class Container:
    cdef public object worker_id, _next, _message_ids, max_id, new_message_id
    cdef public Mutex _lock
    cdef public dict contexts, _floors, _released

    cpdef DistAutogradContext new_context(self)
    cpdef DistAutogradContext get_or_create(self, context_id)
    cpdef DistAutogradContext retrieve(self, context_id)
    cpdef DistAutogradContext drop(self, context_id, floor=*)
    cpdef floor_of(self, context_id)
    cpdef bint _was_released(self, context_id) except? -1
    cpdef _raise_own_floor(self)
    cpdef _note(self, maker, context_id, floor)

cdef class Worker:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object worker_id
    cdef public Agent agent
    cdef public Container container
    cdef public set live, releasing
    cdef public dict initiated

    cpdef bint serves(self) except? -1

cpdef Worker this_worker()
