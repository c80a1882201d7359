"""Copies one array between two processes, by both at the same time; in C, without the GIL.

Cross-memory attach (`process_vm_readv`, `process_vm_writev`) lets a process read and write another's memory. The array is divided
into chunks. The sender writes chunks from the front, the receiver reads chunks from the back, until they meet. They claim chunks
in a *slot*: some words in memory that both have mapped, with atomic operations.

A slot
- `work` contains the number of the transfer and the numbers of chunks that sender and receiver have claimed. It is one word, so
  that a claim is one compare-and-exchange, and every chunk has exactly one owner.
- `copied` is the number of claimed chunks that the sender has copied. It claims one chunk at a time, and has none between calls.
- `stage` contains the number of the transfer and its stage. The sender sets OFFERED, all other stages are set by the receiver:
  ACCEPTED (the other fields are set, and the sender may help), OVER, or REFUSED (send the array by MPI).

So the receiver can finish alone, even if the sender does nothing. Once all chunks are claimed and the sender's are copied, no
process writes to the array any more. The sender never waits; if it cannot copy a chunk, it undoes the claim, and the receiver
can claim it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EFAULT, EINTR, ENOSYS, errno
from libc.string cimport memcmp, memcpy

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__linux__) && defined(__GNUC__)
    #include <sys/uio.h>
    #define MPIGRAD_CAN 1
    static ssize_t mpigrad_move(int64_t pid, char* here, uint64_t there, size_t size, int outwards) {
        struct iovec ours = {here, size}, theirs = {(void*)(uintptr_t)there, size};
        return (outwards ? process_vm_writev : process_vm_readv)((pid_t)pid, &ours, 1, &theirs, 1, 0);
    }
    #define mpigrad_load(place) __atomic_load_n(place, __ATOMIC_SEQ_CST)
    #define mpigrad_store(place, value) __atomic_store_n(place, value, __ATOMIC_SEQ_CST)
    static int mpigrad_exchange(uint64_t* place, uint64_t before, uint64_t after) {
        return __atomic_compare_exchange_n(place, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    #if defined(__x86_64__) || defined(__i386__)
    #define mpigrad_pause() __builtin_ia32_pause()
    #else
    #define mpigrad_pause() __asm__ __volatile__("" ::: "memory")
    #endif
    #else
    #include <errno.h>
    #define MPIGRAD_CAN 0
    static Py_ssize_t mpigrad_move(int64_t pid, char* here, uint64_t there, size_t size, int outwards) {
        errno = ENOSYS;
        return -1;
    }
    #define mpigrad_load(place) (*(place))
    #define mpigrad_store(place, value) (*(place) = (value))
    static int mpigrad_exchange(uint64_t* place, uint64_t before, uint64_t after) { *place = after; return 1; }
    #define mpigrad_pause() ((void)0)
    #endif
    """
    const bint MPIGRAD_CAN
    Py_ssize_t mpigrad_move(int64_t, char*, uint64_t, size_t, bint) noexcept nogil
    uint64_t mpigrad_load(uint64_t*) noexcept nogil
    void mpigrad_store(uint64_t*, uint64_t) noexcept nogil
    bint mpigrad_exchange(uint64_t*, uint64_t, uint64_t) noexcept nogil
    void mpigrad_pause() noexcept nogil

cdef enum:
    done = 0  # results of `give` and `take`; positive numbers are errno values
    more = -1
    later = -2
    broken = -3
    CHUNK = 128 * 1024  # bytes, at least
    PARTS_BITS = 6  # log2 of the maximal number of chunks
    SPINS = 200  # checks of a chunk that the sender is copying: some microseconds

CAN = MPIGRAD_CAN
COUNT = 128  # slots of a process; the first holds its token
TOKEN = 16  # bytes of the token
BYTES = COUNT * 128
OFFERED, ACCEPTED, OVER, REFUSED = 1, 2, 3, 4
DONE, MORE, LATER, BROKEN = done, more, later, broken


cdef uint64_t chunk_of(uint64_t size) noexcept nogil:
    cdef uint64_t chunk = (size >> PARTS_BITS) + 4096 & ~<uint64_t>4095
    return CHUNK if chunk < CHUNK else chunk


cdef int move(int64_t pid, char* here, uint64_t there, uint64_t size, bint outwards) noexcept nogil:
    """Copy `size` bytes; returns 0 or errno. A system call may copy less than requested."""
    cdef Py_ssize_t moved
    while size:
        moved = mpigrad_move(pid, here, there, size, outwards)
        if moved < 0:
            if errno == EINTR:
                continue
            return errno
        if moved == 0:  # nothing was copied although there was no error: without this the loop would not end
            return EFAULT
        here += moved
        there += <uint64_t>moved
        size -= <uint64_t>moved
    return 0


cdef class Array:
    """The memory of a contiguous array, which this object keeps alive. `writable`: it will be written to."""

    def __cinit__(self, array, bint writable=False):
        PyObject_GetBuffer(array, &self.view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
        self.held = True
        self.data = <char*>self.view.buf
        self.size = <uint64_t>self.view.len
        self.address = <size_t>self.data

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef class Slots:
    """The slots of one process, this or another one, in `BYTES` bytes of shared memory: `place` is the index of a slot."""

    def __cinit__(self, memory):
        self.memory = Array(memory, True)
        if self.memory.size != BYTES:
            raise ValueError(f"slots take {BYTES} bytes, not {self.memory.size}")
        self.slot = <Slot*>self.memory.data

    @property
    def address(self):
        return self.memory.address

    @property
    def token(self):
        return self.memory.data[:TOKEN]

    @property
    def lent_file(self):
        return int.from_bytes(self.memory.data[TOKEN:TOKEN + 4], "little")

    cpdef offer(self, int place, uint32_t number, uint64_t size):
        """Sender: open the slot `place` for the transfer `number`, of an array of `size` bytes."""
        cdef Slot* slot = self.at(place)
        slot.size = size
        mpigrad_store(&slot.copied, 0)
        mpigrad_store(&slot.work, <uint64_t>number << 32)
        mpigrad_store(&slot.stage, <uint64_t>number << 32 | <uint64_t>OFFERED)  # last: the receiver reads the other words after it

    cpdef stage(self, int place, uint32_t number):
        """Return how far the transfer `number` in the slot `place` is: OFFERED, ACCEPTED, OVER or REFUSED.

        BROKEN if the slot now belongs to another transfer.
        """
        cdef uint64_t stage = mpigrad_load(&self.at(place).stage)
        return <int>(stage & 0xffff) if stage >> 32 == number else BROKEN

    cpdef accept(self, int place, uint32_t number, int64_t pid, Array into, Slots own):
        """Receiver: accept an offer; False if nothing is offered there.

        Writes into the slot where the sender may write: process id, the memory `into`, and address and value of the own token.
        """
        cdef Slot* slot = self.at(place)
        if mpigrad_load(&slot.stage) != (<uint64_t>number << 32 | <uint64_t>OFFERED) or slot.size != into.size:
            return False
        slot.pid, slot.into, slot.token_address = <uint64_t>pid, <uint64_t>into.data, <uint64_t>own.memory.data
        memcpy(slot.token, own.memory.data, TOKEN)
        self.say(place, number, ACCEPTED)
        return True

    cpdef say(self, int place, uint32_t number, int stage):
        """Receiver: set the stage of a transfer, to OVER or REFUSED."""
        mpigrad_store(&self.at(place).stage, <uint64_t>number << 32 | <uint64_t>stage)

    cpdef receiver(self, int place):
        """Sender: return what the receiver has written when it accepted: process id, address of its token, its token."""
        cdef Slot* slot = self.at(place)
        return slot.pid, slot.token_address, slot.token[:TOKEN]

    cpdef give(self, int place, uint32_t number, Array array, uint64_t most):
        """Sender: write up to `most` bytes, in chunks that it claims, to the receiver's memory.

        DONE if no chunk is left to claim, MORE if some are, otherwise BROKEN or an error of the system.
        """
        cdef Slot* slot = self.at(place)
        cdef int said
        with nogil:
            said = give(slot, number, array.data, array.size, most)
        return said

    cpdef take(self, int place, uint32_t number, int64_t pid, uint64_t origin, Array array, uint64_t most):
        """Receiver: read up to `most` bytes, in chunks that it claims, from the sender's memory at the address `origin`.

        DONE if all is copied and no process writes any more, MORE if chunks are left, LATER if it has to wait for the sender's
        chunks; otherwise BROKEN or an error of the system. After an error all chunks are claimed, so that the sender stops.
        """
        cdef Slot* slot = self.at(place)
        cdef int said
        with nogil:
            said = take(slot, number, pid, origin, array.data, array.size, most)
        return said

    cdef Slot* at(self, int place) except NULL:
        if not 0 < place < COUNT:
            raise ValueError(f"there are {COUNT - 1} slots; {place} is none of them")
        return self.slot + place


cdef int give(Slot* slot, uint32_t number, char* data, uint64_t size, uint64_t most) noexcept nogil:
    cdef uint64_t chunk = chunk_of(size), count = (size + chunk - 1) // chunk, work, nth, length, given = 0
    cdef int error
    while given < most:
        work = mpigrad_load(&slot.work)
        if work >> 32 != number:
            return broken
        nth = work >> 16 & 0xffff
        if nth + (work & 0xffff) >= count:
            return done
        if not mpigrad_exchange(&slot.work, work, work + (1 << 16)):
            continue
        length = min(chunk, size - nth * chunk)
        error = move(<int64_t>slot.pid, data + nth * chunk, slot.into + nth * chunk, length, True)
        if error:  # undo the claim, so that the receiver can copy the chunk; it may claim others at the same time
            while not mpigrad_exchange(&slot.work, work, work - (1 << 16)):
                work = mpigrad_load(&slot.work)
            return error
        mpigrad_store(&slot.copied, nth + 1)
        given += length
    return more


cdef int take(Slot* slot, uint32_t number, int64_t pid, uint64_t origin, char* data, uint64_t size, uint64_t most) noexcept nogil:
    cdef uint64_t chunk = chunk_of(size), count = (size + chunk - 1) // chunk, work, front, back, nth, taken = 0
    cdef int error, spins = 0
    while True:
        work = mpigrad_load(&slot.work)
        front, back = work >> 16 & 0xffff, work & 0xffff
        if work >> 32 != number or front + back > count:
            return broken
        if front + back == count:
            if mpigrad_load(&slot.copied) == front:
                return done
            spins += 1
            if spins > SPINS:
                return later
            mpigrad_pause()
            continue
        if taken >= most:
            return more
        if not mpigrad_exchange(&slot.work, work, work + 1):
            continue
        nth = count - 1 - back
        error = move(pid, data + nth * chunk, origin + nth * chunk, min(chunk, size - nth * chunk), False)
        if error:
            claim_the_rest(slot, count)
            return error
        taken += chunk


cdef void claim_the_rest(Slot* slot, uint64_t count) noexcept nogil:
    cdef uint64_t work
    while True:
        work = mpigrad_load(&slot.work)
        if mpigrad_exchange(&slot.work, work, (work & ~<uint64_t>0xffff) | count - (work >> 16 & 0xffff)):
            return


cpdef recognise(int64_t pid, uint64_t address, bytes token):
    """Check that the process `pid` has this token at an address of its memory, and so is the one that is meant.

    0 if it has; otherwise the error number of the system, or BROKEN if the memory has another content.
    """
    cdef char found[16]
    cdef int error
    if len(token) != TOKEN:
        return broken
    error = move(pid, found, address, TOKEN, False)
    return error or (0 if memcmp(found, <char*>token, TOKEN) == 0 else broken)


cpdef bint is_lent(Array table, uint64_t index) except -1:
    """Return whether the block with this index in the table of lent blocks is in use by its borrower."""
    return mpigrad_load(word_of(table, index)) != 0


cpdef set_lent(Array table, uint64_t index, bint lent):
    """Lender: the block is lent from now on. Borrower: it is returned, and not used any more."""
    mpigrad_store(word_of(table, index), lent)


cdef uint64_t* word_of(Array table, uint64_t index) except NULL:
    if index >= table.size // 8:
        raise ValueError(f"there is no lent block {index}")
    return <uint64_t*>table.data + index
