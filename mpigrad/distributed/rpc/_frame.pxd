# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
cpdef tuple parts(frame, flags, nseg, length, fn_len, meta_len)
