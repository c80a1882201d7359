# Where the slots of recv functions lie, for modules that are compiled: see mpigrad/_core/nodes.pxd.
from mpigrad._core.nodes cimport Node

cdef extern from *:
    """
    typedef struct {
        mpigrad_Node __pyx_base;
        PyObject *message_id, *metas, *outputs, *worker;
    } mpigrad_RecvRpcBackward;
    """
    ctypedef class mpigrad._core.autograd.nodes.RecvRpcBackward(Node) [object mpigrad_RecvRpcBackward, check_size ignore]:
        cdef object message_id, metas, outputs, worker
