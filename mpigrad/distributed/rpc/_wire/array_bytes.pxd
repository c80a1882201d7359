# What C calls directly; see mpigrad/_compiled.py.
cpdef layout_key(int kind, array)
cpdef bytes padded_bytes(array, bytes padding)
cpdef view_of(buffer, long long offset, tuple shape, dtype, long long nbytes)
