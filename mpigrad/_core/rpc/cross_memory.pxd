# C declarations of slots; see docs/compiled.md.
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef struct Slot:
    uint64_t work  # number << 32 | chunks claimed by the sender << 16 | chunks claimed by the receiver
    uint64_t stage  # number << 32 | stage
    uint64_t size
    uint64_t pid  # this and the following fields describe the receiver
    uint64_t into
    uint64_t token_address
    char token[16]
    uint64_t copied  # in a separate cache line: the sender writes it while the receiver reads the others
    uint64_t rest[7]

cdef class Array:
    cdef Py_buffer view
    cdef bint held
    cdef char* data
    cdef uint64_t size
    cdef readonly object address

cdef class Slots:
    cdef Array memory
    cdef Slot* slot

    cpdef offer(self, int place, uint32_t number, uint64_t size)
    cpdef stage(self, int place, uint32_t number)
    cpdef accept(self, int place, uint32_t number, int64_t pid, Array into, Slots own)
    cpdef say(self, int place, uint32_t number, int stage)
    cpdef receiver(self, int place)
    cpdef give(self, int place, uint32_t number, Array array, uint64_t most)
    cpdef take(self, int place, uint32_t number, int64_t pid, uint64_t origin, Array array, uint64_t most)
    cdef Slot* at(self, int place) except NULL

cpdef recognise(int64_t pid, uint64_t address, bytes token)
cpdef bint is_lent(Array table, uint64_t index) except -1
cpdef set_lent(Array table, uint64_t index, bint lent)
cdef uint64_t* word_of(Array table, uint64_t index) except NULL
