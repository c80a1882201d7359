# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cpdef list parse(bytes layout)
cpdef tuple take(list entries, buffer, offset, followed, tuple plain)
