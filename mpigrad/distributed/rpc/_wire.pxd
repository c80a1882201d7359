# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cimport cython

from mpigrad._tensor cimport Tensor
from mpigrad.distributed.rpc._arrays cimport parse, take

@cython.locals(tensor=Tensor, text=bytes, entry=tuple, data=list, follow=list, tensors=list, plain=list)
cpdef tuple encode_flat(items)
@cython.locals(text=bytes, entry=tuple, data=list)
cpdef tuple encode_raw(body, arrays, to=*)
cpdef tuple decode(agent, src, int mode, buffer, offset, bytes meta, followed)
