# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.rpc.cross_memory cimport Array, Slots

cdef class Offers:
    cdef public object _transport
    cdef public bint _willing, _offering
    cdef public set _declining
    cdef public dict _recognised, _known, out

    cpdef make(self, dst, frame, follow, tag)
    cpdef open(self, frame, src)
    cpdef recognises(self, dst, pid, address, token)

cdef class Sender:
    cdef public object packed, identity
    cdef public Slots slots

cdef class OfferSend:
    cdef public Offers _offers
    cdef public object _own, dst, _tag, _source, _requests
    cdef public Array array
    cdef public Slots _slots
    cdef public int place
    cdef public unsigned int number
    cdef public bint declined, _helps

    cpdef bint Test(self) except? -1
    cpdef _help(self)
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

cpdef list _large(follow)
