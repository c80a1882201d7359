# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad.distributed.rpc._arrays cimport parse, take

cpdef tuple encode_flat(items)
cpdef tuple encode_raw(body, arrays, to=*)
cpdef tuple decode(agent, src, int mode, buffer, offset, bytes meta, followed)
