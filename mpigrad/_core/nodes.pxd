# Where the slots of nodes lie, for modules that are compiled; see mpigrad/_compiled.py. The classes stay Python's, which puts slots in the
# order of their names, behind those of the class above. `tests/test_compiled.py` compares. A new node's slots are empty, which
# C must not find: who fills them does not say that it is a Node.
cdef extern from *:
    """
    typedef struct {
        PyObject_HEAD
        PyObject *edges, *hooks, *stack;
    #if PY_VERSION_HEX < 0x030C0000
        PyObject *weak_references;  /* since Python 3.12 before the object */
    #endif
    } mpigrad_Node;
    typedef struct {
        mpigrad_Node __pyx_base;
        PyObject *variable;
    } mpigrad_AccumulateGrad;
    typedef struct {
        mpigrad_Node __pyx_base;
        PyObject *kw, *meta, *saved, *shapes, *versions;
    } mpigrad_OpNode;
    """
    ctypedef class mpigrad._core.node.Node [object mpigrad_Node, check_size ignore]:
        cdef object edges, hooks

    ctypedef class mpigrad._core.node.AccumulateGrad(Node) [object mpigrad_AccumulateGrad, check_size ignore]:
        cdef object variable
