# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.rpc.sender cimport Sender
from mpigrad._core.rpc.raw_message cimport RawMessage
from mpigrad._core.rpc.codec cimport Header, epoch_of, flags_of, mode_of, read_header
from mpigrad._core.rpc.instruments cimport Instruments
from mpigrad._core.rpc.payload cimport Payload, decode_frame, encode_flat, encode_raw
from mpigrad._core.future cimport Future

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
    cpdef _serve_call(self, frame, Header header)
    cpdef tuple _decode_call(self, frame, Header header)
    cpdef _run_and_answer(self, Header header, func, args, kwargs, bint in_context, context)
    @cython.locals(message=RawMessage)
    cpdef _serve_internal(self, frame, Header header, handler)
    @cython.locals(payload=Payload)
    cpdef _answer_internal(self, Header header, answer)
    @cython.locals(payload=Payload, flags=int)
    cpdef _answer(self, Header header, result, bint in_context)
    cpdef _done(self, Header header)
