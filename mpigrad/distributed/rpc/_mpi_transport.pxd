# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
from mpigrad.distributed.rpc._transport cimport Transport

cdef class MPITransport(Transport):
    cdef public object _mpi, _comm, _byte, _frame_tag, _first_tag, _tags, _sends, _under_way, _queued, _coming, _ready
    cdef public object _buffers, _ring, _at
