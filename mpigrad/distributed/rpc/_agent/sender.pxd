# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.rpc._progress.send_queue cimport SendQueue
from mpigrad.distributed.rpc._protocol.codec cimport build_frame
from mpigrad.distributed.rpc._protocol.instruments cimport Instruments
from mpigrad.distributed.rpc._wire.payload cimport Payload

cdef class Sender:
    cdef public object faults, _agent, _before_send, _rank
    cdef public SendQueue _queue
    cdef public Instruments _instruments
    cdef public dict _epochs

    @cython.locals(observers=tuple)
    cpdef send(self, dst, kind, Payload payload, flags=*, call_id=*, context_id=*, message_id=*, bytes function=*, extra=*, extra2=*)
    @cython.locals(data=bytes, meta=bytes, follow=list)
    cpdef _send(self, dst, kind, Payload payload, flags, call_id, context_id, message_id, bytes function, extra, extra2)
