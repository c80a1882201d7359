# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.rpc.cross_memory cimport Array, Slots
from mpigrad._core.rpc.frames cimport Direct, flags_of, kind_of, transfers_of
from mpigrad._core.rpc.transport cimport Transport, origin_of, transfer_sizes

cdef class Offers:
    cdef public object _transport, _mark
    cdef public bint _willing, _offering, _lending
    cdef public set _declining, _accepting
    cdef public dict _recognised, _known, out

    cpdef make(self, dst, frame, follow, tag)
    cdef _lend(self, dst, frame, follow, large, own)
    cpdef open(self, frame, src)
    cpdef recognises(self, dst, pid, address, token)

cdef class Sender:
    cdef public object packed, identity
    cdef public Slots slots
    cdef public object lent

cdef class OfferSend:
    cdef public Offers _offers
    cdef public object _own, dst, _tag, _source, _requests
    cdef public Array array
    cdef public Slots _slots
    cdef public int place
    cdef public unsigned int number
    cdef public bint declined, _helps

    cpdef bint Test(self) except? -1
    cdef _help(self)
    cpdef withdraw(self)

cdef class OfferReceive:
    cdef public object _transport, _bulk, _raw, _src, _tag, _requests, _pid
    cdef public Sender _sender
    cdef public Array _into
    cdef public int _place
    cdef public unsigned int _number
    cdef public unsigned long long _address
    cdef public bint _refused

    cpdef bint Test(self) except? -1
    cpdef _accept(self)
    cpdef _finish(self)

cdef list _large(follow)

cdef class MPITransport(Transport):
    cdef public object _mpi, _comm, _byte, _frame_tag, _first_tag, _tags, _sends, _ready
    cdef public Offers _offers
    cdef Direct _direct
    cdef public dict _under_way, _queued
    cdef public set dead
    cdef public list _coming, _buffers, _ring, _gathers
    cdef public int _at, _gathered, _looks
    cdef public long long bytes_sent, bytes_received

    cpdef send(self, dst, frame, follow, tag)
    cpdef send_now(self, dst, frame, follow, tag)
    @cython.locals(direct=Direct)
    cpdef _send(self, dst, frame, follow, tag)
    cpdef poll(self, int tries)
    @cython.locals(direct=Direct)
    cpdef _poll(self, int tries)
    cpdef _take(self, int tries)
    cpdef _fetch(self, frame)
    cpdef _post_receives(self, frame)
    cdef _complete_bulk(self)
    cpdef _recycle(self)
    cpdef bint pending(self) except? -1
