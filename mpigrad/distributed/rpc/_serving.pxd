# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.rpc._calls cimport Calls
from mpigrad.distributed.rpc._frame cimport parts
from mpigrad.distributed.rpc._wire cimport decode, encode_flat, encode_raw
from mpigrad.futures._future cimport Future

cdef class Serving(Calls):
    cdef public object epoch, _handled
    cdef public dict _serving

    cpdef _serve_call(self, frame)
    cpdef _run_and_answer(self, src, call_id, func, args, kwargs, inside)
    cpdef _answer(self, src, call_id, result, bint in_context)
    cpdef _serve_internal(self, frame, handler)
    cpdef _answer_internal(self, src, call_id, answer)
