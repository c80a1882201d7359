"""Tensors around arrays, compiled in the place of `wrapping.py`."""

from mpigrad._tensor cimport Tensor

cdef extern from *:
    """
    /* The slots of a new object are empty, and not None as Cython expects when it assigns: so they are filled here. */
    static PyObject *mpigrad_wrap(PyObject *cls, PyObject *nothing, PyObject *zero, PyObject *array) {
        mpigrad_Tensor *made = (mpigrad_Tensor *)PyBaseObject_Type.tp_new((PyTypeObject *)cls, nothing, NULL);
        if (made == NULL)
            return NULL;
        Py_INCREF(array); made->_array = array;
        Py_INCREF(zero); made->_nr = zero;
        Py_INCREF(Py_False); made->_requires = Py_False;
        Py_INCREF(Py_None); made->_grad_fn = Py_None;
        Py_INCREF(Py_None); made->_grad = Py_None;
        Py_INCREF(Py_None); made->_counter = Py_None;
        Py_INCREF(Py_None); made->_view = Py_None;
        Py_INCREF(Py_None); made->_extra = Py_None;
        return (PyObject *)made;
    }
    """
    object mpigrad_wrap(object cls, object nothing, object zero, object array)


cpdef wrap(array):
    """A plain tensor around an array: no gradient, no history."""
    return mpigrad_wrap(Tensor, (), 0, array)


cpdef wrap_as(cls, array):
    """A plain tensor of a subclass, such as Parameter."""
    if not issubclass(cls, Tensor):
        raise TypeError(f"{cls!r} is no class of tensors")
    return mpigrad_wrap(cls, (), 0, array)
