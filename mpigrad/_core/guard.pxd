# C declarations, see docs/compiled.md. With C variables, entering and leaving a section costs a few nanoseconds.
from mpigrad._core.objects cimport Mutex, thread_id

cdef list _noted
cdef int _depth
cdef unsigned long _main
cdef object _sleeper, _at_enter, _at_leave

cpdef int enter() except -2
cpdef int leave(int before) except -2
cdef _left()
cpdef int suspend() except -2
cpdef int resume(int before) noexcept
cpdef bint interrupted() noexcept
cpdef int deliver() except -2
cpdef int rest(Mutex lock, double seconds) except -2
