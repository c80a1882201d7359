# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.rpc._agent.call_table cimport Calls
from mpigrad.distributed.rpc._protocol.frame cimport RawMessage, parts
from mpigrad.distributed.rpc._protocol.header cimport Header, read_header
from mpigrad.distributed.rpc._wire.payload cimport decode, encode_flat, encode_raw
from mpigrad.futures._future cimport Future

cdef class Serving(Calls):
    cdef public object epoch, _handled
    cdef public dict _serving

    @cython.locals(header=Header, call_id=object, src=object, mode=int, flags=int)
    cpdef _serve_call(self, frame)
    cpdef _run_and_answer(self, src, call_id, func, args, kwargs, inside)
    cpdef _answer(self, src, call_id, result, bint in_context)
    @cython.locals(header=Header, call_id=object, src=object, mode=int, message=RawMessage)
    cpdef _serve_internal(self, frame, handler)
    cpdef _answer_internal(self, src, call_id, answer)
