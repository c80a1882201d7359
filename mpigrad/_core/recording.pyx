"""Recording the call of an operator, compiled in the place of `recording.py`."""

from mpigrad._core.node cimport edge_of
from mpigrad._core.nodes cimport Node
from mpigrad._tensor cimport Tensor

from mpigrad._core.saved import raise_inference

cdef extern from *:
    """
    /* The slots of a new object are empty, and not None as Cython expects when it assigns: so they are filled here. */
    static PyObject *mpigrad_new_node(PyObject *cls, PyObject *nothing, PyObject *edges, PyObject *kw, PyObject *shapes,
                                      PyObject *saved, PyObject *versions) {
        mpigrad_OpNode *made;
        if (!PyType_Check(cls) || ((PyTypeObject *)cls)->tp_basicsize < (Py_ssize_t)sizeof(mpigrad_OpNode)) {
            PyErr_Format(PyExc_TypeError, "%R is no class of operators' nodes", cls);
            return NULL;
        }
        made = (mpigrad_OpNode *)PyBaseObject_Type.tp_new((PyTypeObject *)cls, nothing, NULL);
        if (made == NULL)
            return NULL;
        Py_INCREF(edges); made->__pyx_base.edges = edges;
        Py_INCREF(Py_None); made->__pyx_base.hooks = Py_None;
        Py_INCREF(kw); made->kw = kw;
        Py_INCREF(Py_None); made->meta = Py_None;
        Py_INCREF(saved); made->saved = saved;
        Py_INCREF(shapes); made->shapes = shapes;
        Py_INCREF(versions); made->versions = versions;
        return (PyObject *)made;
    }
    """
    object mpigrad_new_node(object cls, object nothing, object edges, object kw, object shapes, object saved, object versions)


def new_node(cls, edges, kw, shapes, saved, versions):
    """A node of a subclass of OpNode. `shapes` may be None for operators whose derivative needs none."""
    return mpigrad_new_node(cls, (), edges, kw, shapes, saved, versions)


def record_one(cls, Tensor made not None, Tensor x not None, kw, shapes=None, place=None):
    """Record that an operator of one input made `made` of `x`, which requires a gradient."""
    cdef object saved = (), versions = ()
    if place is not None:
        if place < 0:
            saved = made._array
        else:
            saved, versions = x, _version(x)
    made._grad_fn = mpigrad_new_node(cls, (), (edge_of(x),), kw, shapes, saved, versions)
    made._requires = True


def record_two(cls, Tensor made not None, Tensor a not None, Tensor b not None, kw, tuple saves, shapes=None):
    """Record that an operator of two inputs, one of which requires a gradient, made `made`."""
    cdef tuple edges = (edge_of(a), edge_of(b) if b._requires else None)
    cdef object saved = (), versions = ()
    cdef Tensor s = None, t = None
    if saves is not None:
        by = saves[0]
        if by is None or by >= 0 and edges[by] is not None:
            s = a
        by = saves[1]
        if by is None or by >= 0 and edges[by] is not None:
            t = b
        _check(s)
        _check(t)
        saved, versions = (s, t), (_version(s), _version(t))
    made._grad_fn = mpigrad_new_node(cls, (), edges, kw, shapes, saved, versions)
    made._requires = True


cdef object _version(Tensor tensor):
    return 0 if tensor is None or tensor._counter is None else tensor._counter[0]


cdef _check(Tensor tensor):
    if tensor is not None and not tensor._requires and tensor._extra is not None and tensor._extra.inference:
        raise_inference()
