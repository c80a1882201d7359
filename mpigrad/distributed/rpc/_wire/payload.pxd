# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._tensor cimport Tensor
from mpigrad.distributed.rpc._wire.array_bytes cimport layout_key, padded_bytes
from mpigrad.distributed.rpc._wire.arrays cimport parse, take
from mpigrad.distributed.rpc._protocol.header cimport length_at, with_length

cpdef bint _one_is_twice_in(list tensors) except? -1
@cython.locals(tensor=Tensor, text=bytes, entry=tuple, data=list, follow=list, tensors=list, plain=list)
cpdef tuple encode_flat(items)
@cython.locals(text=bytes, entry=tuple, data=list)
cpdef tuple encode_raw(body, arrays, to=*)
@cython.locals(end=cython.Py_ssize_t, entries=list)
cpdef tuple decode(agent, src, int mode, buffer, offset, bytes meta, followed)
