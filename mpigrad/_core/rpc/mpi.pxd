# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.rpc.codec cimport flags_of, kind_of, transfers_of
from mpigrad._core.rpc.direct cimport Direct
from mpigrad._core.rpc.receive_pool cimport receive_array
from mpigrad._core.rpc.offers cimport Offers, OfferReceive
from mpigrad._core.rpc.base cimport Transport, origin_of, transfer_sizes

cdef class MPITransport(Transport):
    cdef public object _mpi, _comm, _byte, _frame_tag, _first_tag, _tags, _sends, _ready
    cdef public Offers _offers
    cdef Direct _direct
    cdef public dict _under_way, _queued
    cdef public list _coming, _buffers, _ring, _gathers
    cdef public int _at, _gathered, _looks
    cdef public long long bytes_sent, bytes_received

    cpdef send(self, dst, frame, follow, tag)
    @cython.locals(direct=Direct)
    cpdef _send(self, dst, frame, follow, tag)
    @cython.locals(direct=Direct)
    cpdef poll(self, int tries)
    cpdef _take(self, int tries)
    cpdef _fetch(self, frame)
    cpdef _post_receives(self, frame)
    cpdef _complete_bulk(self)
    cpdef _recycle(self)
    cpdef bint pending(self) except? -1
