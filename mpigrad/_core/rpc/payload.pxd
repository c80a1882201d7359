# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.guard cimport resume, suspend
from mpigrad._core.rpc.frames cimport Header, layout_key, length_at, length_prefixed, padded_bytes, slice_bytes, view_of
from mpigrad._core.tensor cimport GuestTensor, TensorBase, guest, wrap

cpdef list parse(bytes layout)
@cython.locals(tensor=TensorBase, kind=int, nth_plain=int, nth_followed=int, nbytes=cython.longlong, entry=tuple)
cpdef tuple take(list entries, buffer, cython.longlong offset, followed, tuple plain)

cdef GuestTensor _guest_for(adapter, tensor)
cdef bytes _tag(adapter, bytes description)
@cython.locals(made=object)
cdef _take_guest(array, int kind, tuple made_by, tensors)

cdef class Payload:
    cdef public int mode
    cdef public bytes data, meta
    cdef public list follow, tensors

@cython.locals(made=Payload)
cdef Payload _payload(int mode, bytes data, bytes meta, list follow, list tensors)
@cython.locals(place=cython.int)
cdef int _place_of(tensor, list tensors) except? -2
@cython.locals(place=cython.int, tensor=TensorBase, found=GuestTensor, text=bytes, tag=bytes, entry=tuple, data=list,
               follow=list, tensors=list, plain=list, layout=list)
cpdef Payload encode_flat(items)
@cython.locals(place=cython.int)
cdef int _guest_place(item, list tensors) except? -2
@cython.locals(text=bytes, entry=tuple, data=list)
cpdef Payload encode_raw(body, arrays, to=*)
@cython.locals(length=cython.longlong, name_length=cython.longlong, meta_length=cython.longlong, middle=cython.longlong,
               start=cython.longlong, end=cython.longlong, offset=cython.longlong)
cpdef tuple parts(frame, Header header)
cpdef tuple decode_frame(agent, frame, Header header)
@cython.locals(end=cython.Py_ssize_t, entries=list)
cpdef tuple _decode(agent, src, int mode, buffer, offset, bytes meta, followed)
