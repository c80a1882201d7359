# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cdef class Header:
    cdef readonly unsigned int kind, mode, flags, epoch, transfers, src, length, name_length, meta_length
    cdef readonly unsigned long long tag
    cdef readonly long long call_id, context_id, message_id, extra, extra2

cpdef Header read_header(frame)
cpdef int kind_of(frame) except -1
cpdef int mode_of(frame) except -1
cpdef int flags_of(frame) except -1
cpdef int epoch_of(frame) except -1
cpdef int transfers_of(frame) except -1
cpdef bytes build_frame(
    unsigned char kind, unsigned char mode, unsigned short flags, unsigned short epoch, unsigned int src, long long call_id,
    long long context_id, long long message_id, long long extra, long long extra2, bytes data, bytes meta, bytes name
)
cpdef bytes length_prefixed(bytes text, bytes rest)
cpdef unsigned int length_at(bytes text, Py_ssize_t place) except? 4294967295
cpdef bytes slice_bytes(buffer, Py_ssize_t start, Py_ssize_t end)
cpdef layout_key(int kind, array)
cpdef bytes padded_bytes(array, bytes padding)
cpdef view_of(buffer, long long offset, tuple shape, dtype, long long nbytes)

cdef class Direct:
    cdef object _mpi, _ring, _buffers
    cdef void *_isend
    cdef void *_test
    cdef void *_start
    cdef Py_ssize_t _byte, _comm
    cdef int _tag, _at, _count
    cdef void *_requests[64]

    cpdef send(self, frame, int dst)
    cpdef take(self, int tries)
    cdef _raise(self, int code)
