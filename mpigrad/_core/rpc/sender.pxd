# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.rpc.send_queue cimport SendQueue
from mpigrad._core.rpc.codec cimport build_frame
from mpigrad._core.rpc.instruments cimport Instruments
from mpigrad._core.rpc.payload cimport Payload

cdef class Sender:
    cdef public object faults, _agent, _before_send, _rank
    cdef public SendQueue _queue
    cdef public Instruments _instruments
    cdef public dict _epochs

    @cython.locals(observers=tuple)
    cpdef send(self, dst, kind, Payload payload, flags=*, call_id=*, context_id=*, message_id=*, bytes function=*, extra=*, extra2=*)
    @cython.locals(data=bytes, meta=bytes, follow=list)
    cpdef _send(self, dst, kind, Payload payload, flags, call_id, context_id, message_id, bytes function, extra, extra2)
