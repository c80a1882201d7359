# What has a fixed place in memory when the module is compiled, and what C calls directly; see mpigrad/_compiled.py.
from mpigrad._tensor cimport Tensor

cpdef accumulator(Tensor leaf)
cpdef _accumulator(Tensor leaf)
cpdef tuple edge_of(Tensor tensor)
