# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class Container:
    cdef public object worker_id, contexts, _lock, _next, _floors, _released, _message_ids, max_id, new_message_id
