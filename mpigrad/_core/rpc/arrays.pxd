# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.tensor cimport TensorBase
from mpigrad._core.tensor cimport wrap
from mpigrad._core.rpc.codec cimport layout_key, padded_bytes, view_of

cpdef list parse(bytes layout)
@cython.locals(tensor=TensorBase, kind=int, nth_plain=int, nth_followed=int, nbytes=cython.longlong, entry=tuple)
cpdef tuple take(list entries, buffer, cython.longlong offset, followed, tuple plain)
