# Attributes that have a fixed place in memory when the module is compiled; all others are found by name.
cdef class Sending:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object transport, lock, outbox, _send_failed, _beat
