# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
from mpigrad.distributed.rpc._waiting cimport Waiting

cdef class Progress(Waiting):
    cdef public object limit, name, _serve, _monitor_role, _idle, _running, _finished, _finished_before, _stalled_since
    cdef public object _spawned
