# What C calls directly; see docs/compiled.md.
cpdef new(type base, type cls)
cpdef bint sole(value)
cpdef bint sole_part(owner, str name) except? -1
cpdef bint sole_item(tuple items, Py_ssize_t place) except? -1
cpdef bint sole_bases(array) except? -1
