# Attributes that have a fixed place in memory when the module is compiled; there are no others.
cdef class DistAutogradContext:
    cdef public object context_id, gradients, held, known_workers, lock, origins, parts, reached, reaches, recvs
    cdef public object released, roots, sends, unseen
