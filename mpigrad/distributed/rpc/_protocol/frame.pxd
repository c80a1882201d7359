# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad.distributed.rpc._protocol.header cimport Header, piece

cdef class RawMessage:
    cdef public object src, body, arrays, extra, extra2, context_id, message_id

@cython.locals(length=cython.longlong, name_length=cython.longlong, meta_length=cython.longlong, middle=cython.longlong,
               start=cython.longlong, end=cython.longlong, offset=cython.longlong)
cpdef tuple parts(frame, Header header)
