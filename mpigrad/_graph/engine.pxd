# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cdef class GraphTask:
    cdef public object F, captures, needed, sink
    cdef public dict buffers, captured, dependencies
    cdef public set own
    cdef public list ready
    cdef public bint keep

    cpdef feed(self, node, nr, grad)
    cpdef _sum(self, node, held, grad)
    cpdef run(self)
    cpdef run_alone(self)
    cpdef _run(self, bint gpus)
    cpdef _end(self, leaf)

cpdef dict count_dependencies(roots)
cpdef as_array(value)
