# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.node cimport grown, keep
from mpigrad._core.autograd.graph cimport MessageGradients, Parts, Source
from mpigrad._core.guard cimport enter, leave
from mpigrad._core.objects cimport Mutex
from mpigrad._core.node cimport Node
from mpigrad._core.rpc.agent cimport Agent
from mpigrad._core.rpc.agent cimport RawMessage
from mpigrad._core.tensor cimport TensorBase, wrap

cdef class DistAutogradContext:
    cdef public object context_id, origins
    cdef public dict gradients, joined, reached, recvs, roots, sends
    cdef public set known_workers
    cdef public object missing, terms
    cdef public Mutex lock
    cdef public Parts parts
    cdef public bint released

    @cython.locals(held=TensorBase, before=int)
    cpdef accumulate(self, variable, grad, F, bint owned=*)
    @cython.locals(found=Source)
    cpdef Source source_of_roots(self, list edges)
    cpdef list joined_parts(self, pass_id=*)

cdef class Sink:
    cdef public object F
    cdef public DistAutogradContext context
    cdef public bint discard
    cdef public dict outgoing

    cpdef _leave(self, Node node, grad)

cdef class Container:
    cdef public object worker_id, _next, _message_ids, max_id, new_message_id
    cdef public Mutex _lock
    cdef public dict contexts, _floors, _released

    cpdef DistAutogradContext new_context(self)
    cpdef DistAutogradContext get_or_create(self, context_id)
    cpdef DistAutogradContext retrieve(self, context_id)
    cpdef DistAutogradContext drop(self, context_id, floor=*)
    cpdef floor_of(self, context_id)
    cdef bint _was_released(self, context_id) except? -1
    cdef _raise_own_floor(self)
    cpdef _note(self, maker, context_id, floor)

cdef class Worker:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object worker_id
    cdef public Agent agent
    cdef public Container container
    cdef public set live, releasing
    cdef public dict initiated, relays

    cpdef bint serves(self) except? -1

cpdef maker_of(number)

cpdef Worker this_worker()

cpdef _walk(DistAutogradContext context)
@cython.locals(tensor=TensorBase, needing=list)
cdef list _needing(tensors)
cpdef record_send(DistAutogradContext context, message_id, tensors)
cpdef record_recv(DistAutogradContext context, src, message_id, tensors)

cdef class _Interceptor:
    @cython.locals(context=DistAutogradContext, worker=Worker)
    cpdef on_send(self, Agent agent, dst, tensors)
    @cython.locals(context=DistAutogradContext, worker=Worker)
    cpdef DistAutogradContext on_receive(self, Agent agent, src, context_id, message_id, tensors)

cpdef bint release(Worker worker, context_id, told_by=*, floor=*) except? -1
cpdef _tell(Worker worker, rank, context_id)
@cython.locals(worker=Worker)
cpdef _send_release(tuple told)
@cython.locals(worker=Worker)
cpdef _handle_release(agent, RawMessage message)
cdef _fail_joined_parts(DistAutogradContext context)
