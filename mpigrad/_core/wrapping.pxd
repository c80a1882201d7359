# What C calls directly; see mpigrad/_compiled.py.
cpdef wrap(array)
cpdef wrap_as(cls, array)
