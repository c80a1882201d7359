# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
cpdef receive_array(nbytes)
cpdef _rounded(nbytes)
