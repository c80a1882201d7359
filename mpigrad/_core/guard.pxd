# What C calls directly; see mpigrad/_compiled.py.
cpdef int enter() except -2
cpdef int leave(int before) except -2
cpdef int suspend() except -2
cpdef int resume(int before) noexcept
cpdef bint interrupted() noexcept
cpdef int deliver() except -2
cpdef int rest(object lock, double seconds) except -2
