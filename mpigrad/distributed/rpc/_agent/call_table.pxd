# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.rpc._protocol.frame cimport parts
from mpigrad.distributed.rpc._protocol.header cimport Header, frame_of, read_header
from mpigrad.distributed.rpc._progress.pool cimport Progress
from mpigrad.distributed.rpc._wire.payload cimport decode, encode_flat, encode_raw
from mpigrad.futures._future cimport Future

cdef class _Retried:
    cdef public Calls _calls
    cdef public object _failures, _message, _then

    cpdef send(self)

cdef class Calls:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object info, rank, rpc_timeout, latency, faults, future_type, _first_id, _ids, _lost, _pending
    cdef public object _timer_lock, _timer_ids
    cdef public Progress progress
    cdef public dict workers, by_name, gone, epochs
    cdef public list _timers

    @cython.locals(fut=Future)
    cpdef Future call(self, dst, func, args, kwargs, timeout, kind=*, extra=*, extra2=*)
    @cython.locals(fut=Future)
    cpdef Future request(self, dst, kind, body=*, arrays=*, timeout=*, extra=*, extra2=*, context=*, then=*)
    cpdef wait(self, Future fut, deadline=*)
    @cython.locals(fut=Future)
    cpdef call_sync(self, dst, func, args, kwargs, timeout)
    cpdef wait_for(self, Future fut)
    @cython.locals(follow=list, data=bytes, meta=bytes)
    cpdef _post(self, dst, kind, tuple payload, flags, call_id, context_id, message_id, bytes name, extra, extra2)
    cpdef _receive_answer(self, frame, waiting_for)
    @cython.locals(fut=Future, header=Header, call_id=object, src=object, mode=int, flags=int, state=int)
    cpdef _complete(self, frame)
