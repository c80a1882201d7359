# What has a fixed place in memory when the module is compiled; see docs/compiled.md.
cdef class RawMessage:
    cdef public object src, body, arrays, extra, extra2, context_id, message_id
