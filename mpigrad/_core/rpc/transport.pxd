# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.rpc.frames cimport Header, read_header, transfers_of

cdef class Transport:
    cdef dict __dict__
    cdef object __weakref__

    cpdef send(self, dst, frame, follow, tag)
    cpdef poll(self, int tries)
    cpdef bint pending(self) except? -1

cpdef list transfer_sizes(frame)
@cython.locals(header=Header)
cpdef tuple origin_of(frame)
