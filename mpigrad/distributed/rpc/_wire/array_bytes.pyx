"""Small arrays as bytes and back, compiled in the place of `_wire/array_bytes.py`.

What is not plain (other memory than a frame's, elements that are objects, arrays that are not contiguous) goes NumPy's usual way.
"""

cimport numpy as np
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy

import numpy

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        type subtype, np.dtype descr, int nd, np.npy_intp* dims, np.npy_intp* strides, void* data, int flags, void* obj
    )
    int PyArray_SetBaseObject(np.ndarray array, object base) except -1
    void PyArray_UpdateFlags(np.ndarray array, int flags)
    bint PyDataType_REFCHK(np.dtype descr)
    bint PyDataType_HASSUBARRAY(np.dtype descr)
    int NPY_ARRAY_UPDATE_ALL
    int NPY_ARRAY_WRITEABLE

cdef extern from *:
    """
    /* Whether an array's dtype is the one object that NumPy has for it, as for numbers in the machine's order: its address
       tells it then. */
    static int mpigrad_is_one_of_a_kind(PyArrayObject *array) {
        PyArray_Descr *descr = PyArray_DescrFromType(PyArray_TYPE(array));
        if (descr == NULL) {
            PyErr_Clear();
            return 0;
        }
        Py_DECREF(descr);  /* the array has it, or it is not the same */
        return descr == PyArray_DESCR(array);
    }
    """
    bint mpigrad_is_one_of_a_kind(np.ndarray array)

np.import_array()

_ndarray = numpy.ndarray

cdef struct Key:
    long long kind
    void* dtype
    np.npy_intp shape[8]


cpdef layout_key(int kind, array):
    """What arrays of one kind, dtype and shape have in common. It stands for them as long as the dtype is kept with it."""
    cdef Key key
    if type(array) is not _ndarray or (<np.ndarray>array).ndim > 8 or not mpigrad_is_one_of_a_kind(array):
        return kind, array.dtype, array.shape
    cdef Py_ssize_t length = (<np.ndarray>array).ndim * sizeof(np.npy_intp)
    key.kind, key.dtype = kind, <void*>np.PyArray_DESCR(array)
    if length:
        memcpy(key.shape, np.PyArray_DIMS(array), length)
    return PyBytes_FromStringAndSize(<char*>&key, <Py_ssize_t>(<char*>key.shape - <char*>&key) + length)


cpdef bytes padded_bytes(array, bytes padding):
    """An array's elements as bytes, and some more."""
    if type(array) is not _ndarray or not np.PyArray_IS_C_CONTIGUOUS(array):
        return array.tobytes() + padding
    cdef Py_ssize_t length = np.PyArray_NBYTES(array), more = len(padding)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, length + more)
    memcpy(PyBytes_AS_STRING(made), np.PyArray_DATA(array), length)
    memcpy(PyBytes_AS_STRING(made) + length, PyBytes_AS_STRING(padding), more)
    return made


cpdef view_of(buffer, long long offset, tuple shape, dtype, long long nbytes):
    """An array in the memory of a buffer, of so many bytes from the offset on; ValueError or TypeError if there are fewer."""
    cdef np.npy_intp dims[8]
    cdef int nth, count = len(shape)
    if count > 8 or not PyByteArray_Check(buffer) or PyDataType_REFCHK(dtype) or PyDataType_HASSUBARRAY(dtype):
        return _ndarray(shape, dtype, buffer, offset)
    if offset < 0 or nbytes < 0 or nbytes > PyByteArray_GET_SIZE(buffer) - offset:
        raise TypeError("buffer is too small for requested array")
    for nth in range(count):
        dims[nth] = shape[nth]
        if dims[nth] < 0:
            raise ValueError("negative dimensions are not allowed")
    Py_INCREF(dtype)  # which the next line takes over
    made = PyArray_NewFromDescr(
        _ndarray, dtype, count, dims, NULL, PyByteArray_AS_STRING(buffer) + offset, NPY_ARRAY_WRITEABLE, NULL
    )
    Py_INCREF(buffer)
    PyArray_SetBaseObject(made, buffer)
    PyArray_UpdateFlags(made, NPY_ARRAY_UPDATE_ALL)
    if np.PyArray_NBYTES(made) != nbytes:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} does not have {nbytes} bytes")
    return made
