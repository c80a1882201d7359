"""Low-level operations on objects, compiled instead of `objects.py`. Locks are those of Python's C API.

References are counted in C, where it is known which ones are ours: a C variable has one, an argument of a `cpdef` function that
is called from C has none. Called from Python, `sole` also counts the caller's references and returns False.
"""

import time

from cpython.exc cimport PyErr_CheckSignals
from numpy import ndarray

cdef extern from *:
    """
    #include <structmember.h>

    static PyObject *mpigrad_new(PyTypeObject *base, PyTypeObject *cls, PyObject *nothing) {
        if (!PyType_IsSubtype(cls, base)) {
            PyErr_Format(PyExc_TypeError, "%R is no subclass of %R", cls, base);
            return NULL;
        }
        return base->tp_new(cls, nothing, NULL);
    }

    /* Where in an object a value lies, as the compiler has put it; -1 if nowhere. */
    static Py_ssize_t mpigrad_place(PyObject *object, PyObject *value) {
        Py_ssize_t at, word = sizeof(PyObject *);
        for (at = sizeof(PyObject); at + word <= Py_TYPE(object)->tp_basicsize; at += word)
            if (*(PyObject **)((char *)object + at) == value)
                return at;
        return -1;
    }

    /* A descriptor like that of a slot: Python reads it without a call. The definition lives as long as the class: forever. */
    static PyObject *mpigrad_member(PyTypeObject *cls, PyObject *name, Py_ssize_t place) {
        PyMemberDef *member = (PyMemberDef *)PyMem_Calloc(1, sizeof(PyMemberDef));
        if (member == NULL)
            return PyErr_NoMemory();
        Py_INCREF(name);
        member->name = PyUnicode_AsUTF8(name);
        member->type = T_OBJECT_EX;
        member->offset = place;
        return PyDescr_NewMember(cls, member);
    }

    static int mpigrad_set(PyTypeObject *cls, PyObject *name, PyObject *value) {
        int failed = PyDict_SetItem(cls->tp_dict, name, value);
        PyType_Modified(cls);
        return failed;
    }
    #define mpigrad_holders_of_item(items, place) Py_REFCNT(PyTuple_GET_ITEM(items, place))
    """
    object mpigrad_new(type base, type cls, tuple nothing)
    Py_ssize_t mpigrad_place(object made, object value)
    object mpigrad_member(type cls, str name, Py_ssize_t place)
    int mpigrad_set(type cls, str name, object value) except -1
    Py_ssize_t mpigrad_holders_of_item(tuple items, Py_ssize_t place)
    Py_ssize_t Py_REFCNT(object value)

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()
    ctypedef int PyLockStatus
    void *PyThread_allocate_lock()
    void PyThread_free_lock(void *lock)
    int PyThread_acquire_lock(void *lock, int waits)
    PyLockStatus PyThread_acquire_lock_timed(void *lock, long long microseconds, int interruptible)
    void PyThread_release_lock(void *lock)
    int PY_LOCK_ACQUIRED
    int PY_LOCK_INTR

cdef double _LONGEST = 1e9  # seconds of one wait; longer waits are split



def show(type cls not None):
    """Make the C fields of a class accessible from Python as fast as `__slots__`: Cython's own descriptors are slower.

    Fields with numbers keep those."""
    made = new(cls, cls)
    for name in [each for each in cls.__slots__ if each != "__weakref__" and getattr(made, each) is None]:
        value = object()
        setattr(made, name, value)
        place = mpigrad_place(made, value)
        if place < 0:
            raise TypeError(f"{cls!r} has no field {name!r}")
        mpigrad_set(cls, name, mpigrad_member(cls, name, place))


cpdef new(type base, type cls):
    """Create an object of `cls` with the `__new__` of `base`, even if `cls` overrides it. C fields are None."""
    if base is None or cls is None:
        raise TypeError("None is no class")
    return mpigrad_new(base, cls, ())


cpdef bint sole(value):
    """Whether the caller's variable is the only reference to an object."""
    return Py_REFCNT(value) == 1


cpdef bint sole_part(owner, str name) except? -1:
    """Whether an attribute is the only reference to its value."""
    value = getattr(owner, name)
    return Py_REFCNT(value) <= 2  # the attribute and the variable


cpdef bint sole_item(tuple items, Py_ssize_t place) except? -1:
    """Whether a tuple has the only reference to one of its items."""
    if not 0 <= place < len(items):
        raise IndexError(place)
    return mpigrad_holders_of_item(items, place) == 1


cpdef bint sole_bases(array) except? -1:
    """Whether the base arrays of a view have no other references."""
    base = array.base
    while base is not None:
        if type(base) is not ndarray and not getattr(base, "lends_memory", False):
            return False
        if Py_REFCNT(base) > 2:  # the view and the variable
            return False
        base = getattr(base, "base", None)
    return True


# -- locks -------------------------------------------------------------------------------------------------------------
cpdef unsigned long thread_id() noexcept:
    """The id of the current thread, as `threading.get_ident` gives it."""
    return PyThread_get_thread_ident()


cdef class Mutex:
    """A lock with the methods of `threading.Lock`.

    `_taken` is only changed under the GIL, by the thread that holds the lock or has just acquired it.
    """

    def __cinit__(self):
        self._lock = PyThread_allocate_lock()
        if self._lock == NULL:
            raise MemoryError("no lock could be made")

    def __dealloc__(self):
        if self._lock != NULL:
            if self._taken:
                PyThread_release_lock(self._lock)
            PyThread_free_lock(self._lock)

    cpdef bint acquire(self, bint blocking=True, double timeout=-1) except -1:
        """Acquire the lock; returns whether that succeeded. `timeout` in seconds, -1 for none."""
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if PyThread_acquire_lock(self._lock, 0):
            self._taken = True
            return True
        return blocking and self._wait(timeout)

    cdef bint _wait(self, double timeout) except -1:
        cdef double end = time.monotonic() + timeout
        cdef double left = timeout
        cdef long long microseconds
        cdef int status
        while True:
            microseconds = -1 if timeout < 0 else <long long>(min(left, _LONGEST) * 1e6)
            with nogil:
                status = PyThread_acquire_lock_timed(self._lock, microseconds, 1)
            if status == PY_LOCK_ACQUIRED:
                self._taken = True
                return True
            if status == PY_LOCK_INTR:
                PyErr_CheckSignals()
            if timeout >= 0:
                left = end - time.monotonic()
                if left <= 0:
                    return False

    cpdef release(self):
        """Release the lock; any thread may do that."""
        if not self._taken:
            raise RuntimeError("release unlocked lock")
        self._taken = False
        PyThread_release_lock(self._lock)

    cpdef bint locked(self):
        """Whether the lock is held."""
        return self._taken

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()
