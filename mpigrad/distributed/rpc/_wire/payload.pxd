# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._tensor cimport Tensor
from mpigrad.distributed.rpc._protocol.frame cimport parts
from mpigrad.distributed.rpc._protocol.header cimport Header, length_at, with_length
from mpigrad.distributed.rpc._wire.array_bytes cimport layout_key, padded_bytes
from mpigrad.distributed.rpc._wire.arrays cimport parse, take

cdef class Payload:
    cdef public int mode
    cdef public bytes data, meta
    cdef public list follow, tensors

@cython.locals(made=Payload)
cdef Payload _payload(int mode, bytes data, bytes meta, list follow, list tensors)
cpdef bint _one_is_twice_in(list tensors) except? -1
@cython.locals(tensor=Tensor, text=bytes, entry=tuple, data=list, follow=list, tensors=list, plain=list)
cpdef Payload encode_flat(items)
@cython.locals(text=bytes, entry=tuple, data=list)
cpdef Payload encode_raw(body, arrays, to=*)
cpdef tuple decode_frame(agent, frame, Header header)
@cython.locals(end=cython.Py_ssize_t, entries=list)
cpdef tuple _decode(agent, src, int mode, buffer, offset, bytes meta, followed)
