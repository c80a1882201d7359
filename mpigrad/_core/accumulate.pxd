# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cdef class Ownership:
    cdef public object rehearse, _sole, _measured, _measuring

    cpdef bint alone(self, grad) except? -1
    cpdef keep(self, grad)

cpdef bint owns_memory(grad) except? -1
