# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
cdef class Calls:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object info, rank, rpc_timeout, progress, workers, by_name, gone, epochs, latency, faults, _first_id
    cdef public object _ids, _lost, _pending
    cdef public object _timers, _timer_lock, _timer_ids
