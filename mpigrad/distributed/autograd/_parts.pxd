# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class Source:
    cdef public object _counts, _hooks, _user_code, below, message_id, nodes, outputs, path, ran

cdef class Parts:
    cdef public object _held, _hooks, _lock, _owner, _sends, _together, _user_code, sources
