# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cpdef accumulator(leaf)
cpdef _accumulator(leaf)
cpdef tuple edge_of(tensor)
