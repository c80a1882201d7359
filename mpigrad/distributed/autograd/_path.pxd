# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cdef class Path:
    cdef public object _last
    cdef public list _steps, ends

    cpdef list nodes(self)
    cpdef run(self, F, bint keep, grads, sink)
    cpdef list _run_last(self, F, bint keep, grad)

cpdef Path path_below(start)
cpdef list _ends(node)
