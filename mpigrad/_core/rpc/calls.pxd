# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.future cimport Future
from mpigrad._core.guard cimport enter, leave, resume, suspend
from mpigrad._core.rpc.frames cimport Header, build_frame, kind_of, mode_of, read_header
from mpigrad._core.rpc.payload cimport Payload, decode_frame, encode_flat, encode_raw
from mpigrad._core.rpc.progress cimport Pool, SendQueue, Waiters

cdef class CallTable

cdef class Instruments:
    cdef public tuple active

cdef class Sender:
    cdef public object faults, _agent, _before_send, _rank
    cdef public SendQueue _queue
    cdef public Instruments _instruments
    cdef public dict _epochs

    @cython.locals(observers=tuple)
    cpdef send(self, dst, kind, Payload payload, flags=*, call_id=*, context_id=*, message_id=*, bytes function=*, extra=*, extra2=*)
    @cython.locals(data=bytes, meta=bytes, follow=list)
    cpdef _send(self, dst, kind, Payload payload, flags, call_id, context_id, message_id, bytes function, extra, extra2)

cdef class CallFuture(Future):
    cdef public object dst, func, timeout
    cdef public long long context_id
    cdef public double deadline
    cdef public bint recorded

cdef class _Retried:
    cdef public CallTable _calls
    cdef public object _dst, _kind, _body, _extra, _extra2, _then, _failures

    cpdef send(self)

cdef class CallTable:
    cdef object __weakref__
    cdef public object pending, issued, unsent, latency, timers, _agent, _ids, _interceptor
    cdef public dict _gone
    cdef public Sender _sender
    cdef public Waiters _waiters
    cdef public Pool _pool
    cdef public Instruments _instruments

    cpdef CallFuture new_future(self)
    @cython.locals(fut=CallFuture)
    cpdef CallFuture _begin(self, dst, func, timeout, double now)
    @cython.locals(before=int)
    cpdef CallFuture call(self, dst, func, args, kwargs, timeout, kind, extra, extra2)
    @cython.locals(fut=CallFuture, payload=Payload, now=double)
    cpdef CallFuture _call(self, dst, func, args, kwargs, timeout, kind, extra, extra2)
    @cython.locals(before=int, fut=CallFuture, payload=Payload)
    cpdef CallFuture request(self, dst, kind, body, arrays, timeout, extra, extra2, context, then)
    cpdef request_with_retries(self, dst, kind, body, extra, extra2, then)
    cpdef wait_for(self, CallFuture fut)
    @cython.locals(mode=int)
    cpdef receive(self, frame, waiting_for)
    @cython.locals(header=Header, observers=tuple)
    cpdef complete(self, frame)
    @cython.locals(fut=CallFuture, call_id=object, flags=int, state=int)
    cpdef _complete(self, frame, Header header)
    cpdef _finish(self, CallFuture fut, call_id, int state, value)
    cpdef bint fail(self, call_id, error) except? -1
