"""Kernels for the host, compiled from the source of the GPU kernels (`mpigrad/_kernels/on_host.py`).

`run` checks the requirements of a kernel, and returns False if they are not met; the callers then use NumPy.
"""

cimport numpy as np

np.import_array()

cdef extern from "host_table.h":
    ctypedef union HostArgument:
        void *p
        long long i
        unsigned long long u
        double d
    ctypedef void (*HostBody)(const HostArgument *) noexcept nogil
    ctypedef struct HostKernel:
        const char *name
        const char *kinds
        HostBody run[2]
    const HostKernel mpigrad_host_kernels[]

cdef extern from "numpy/arrayobject.h":
    bint PyArray_ISCARRAY(np.ndarray array)
    bint PyArray_ISCARRAY_RO(np.ndarray array)

cdef enum:
    MOST = 24


def find(str name):
    """The number of a kernel for `run`; -1 if it was not compiled."""
    cdef bytes wanted = name.encode()
    cdef int number = 0
    while mpigrad_host_kernels[number].name != NULL:
        if mpigrad_host_kernels[number].name == wanted:
            return number
        number += 1
    return -1


def run(int number, tuple arguments not None):
    """Run a kernel on contiguous NumPy arrays of one type, float or double; returns whether it ran. Outputs must be writeable.

    The first argument determines the type. Arrays may be None where the kernel allows it."""
    cdef HostArgument given[MOST]
    cdef const char *kinds
    cdef np.ndarray array
    cdef int at, kind, variant
    cdef HostBody body
    if number < 0 or type(arguments[0]) is not np.ndarray:
        return False
    kind = np.PyArray_TYPE(arguments[0])
    if kind != np.NPY_FLOAT32 and kind != np.NPY_FLOAT64:
        return False
    variant = kind == np.NPY_FLOAT64
    kinds = mpigrad_host_kernels[number].kinds
    for at in range(len(arguments)):
        if at >= MOST or kinds[at] == 0:
            raise TypeError(f"kernel {mpigrad_host_kernels[number].name.decode()} takes {at} arguments, not {len(arguments)}")
        each = arguments[at]
        if kinds[at] == b"r" or kinds[at] == b"w":
            if each is None:
                given[at].p = NULL
                continue
            if type(each) is not np.ndarray:
                return False
            array = each
            if np.PyArray_TYPE(array) != kind or not (PyArray_ISCARRAY_RO(array) if kinds[at] == b"r" else PyArray_ISCARRAY(array)):
                return False
            given[at].p = np.PyArray_DATA(array)
        elif kinds[at] == b"d":
            given[at].d = each
        elif kinds[at] == b"u":
            given[at].u = each
        elif kinds[at] == b"i":
            given[at].i = each
        else:
            given[at].i = each
            for before in arguments[:at]:
                if before is not None and before.size != each:
                    return False
    if kinds[len(arguments)] != 0:
        raise TypeError(f"kernel {mpigrad_host_kernels[number].name.decode()} takes more than {len(arguments)} arguments")
    body = mpigrad_host_kernels[number].run[variant]
    with nogil:
        body(given)
    return True
