# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.future cimport Future
from mpigrad._core.guard cimport enter, leave
from mpigrad._core.rpc.calls cimport CallFuture, CallTable, Instruments, Sender
from mpigrad._core.rpc.frames cimport Header, epoch_of, flags_of, kind_of, mode_of, read_header
from mpigrad._core.rpc.payload cimport Payload, decode_frame, encode_flat, encode_raw
from mpigrad._core.rpc.progress cimport Idle

cdef class RawMessage:
    cdef public object src, body, arrays, extra, extra2, context_id, message_id

cdef class Server:
    cdef object __weakref__
    cdef public int epoch
    cdef public object handled, _agent, _handled, _interceptor
    cdef public dict running, _handlers
    cdef public Sender _sender
    cdef public Instruments _instruments

    cpdef receive(self, frame, int kind, bint waiting)
    @cython.locals(observers=tuple)
    cpdef serve(self, frame, int kind)
    @cython.locals(header=Header)
    cpdef dispatch(self, frame, int kind)
    cdef _serve_call(self, frame, Header header)
    cdef tuple _decode_call(self, frame, Header header)
    cdef _run_and_answer(self, Header header, func, args, kwargs, bint in_context, context)
    @cython.locals(message=RawMessage)
    cdef _serve_internal(self, frame, Header header, handler)
    @cython.locals(payload=Payload)
    cdef _answer_internal(self, Header header, answer)
    @cython.locals(payload=Payload, flags=int)
    cpdef _answer(self, Header header, result, bint in_context)
    cpdef _done(self, Header header)

cdef class Agent:
    cdef object __weakref__
    cdef public CallTable calls
    cdef public Server server
    cdef public Sender sender
    cdef public Instruments _instruments
    cdef public Idle _idle
    cdef public dict workers, by_name, gone, left, lost, epochs, slots
    cdef public object rank, info, rpc_timeout, transport, static, options, closing_protocol, membership, communicator
    cdef public object unknown_worker, progress, autograd, rrefs

    cpdef CallFuture call(self, dst, func, args, kwargs, timeout, kind=*, extra=*, extra2=*)
    cpdef call_sync(self, dst, func, args, kwargs, timeout)
    cpdef CallFuture request(self, dst, kind, body=*, arrays=*, timeout=*, extra=*, extra2=*, context=*, then=*)
    cpdef request_with_retries(self, dst, kind, body=*, extra=*, extra2=*, then=*)
    cpdef run_when_idle(self, work, subject)
    cpdef wait_for(self, CallFuture fut)
    cpdef receive(self, frame, waiting_for)
    cpdef serve(self, work)
