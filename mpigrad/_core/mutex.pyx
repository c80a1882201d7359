"""`Mutex`, compiled in the place of `mutex.py`: Python's own locks, called without going through Python."""

import time

from cpython.exc cimport PyErr_CheckSignals

cdef extern from "pythread.h" nogil:
    ctypedef int PyLockStatus
    void *PyThread_allocate_lock()
    void PyThread_free_lock(void *lock)
    int PyThread_acquire_lock(void *lock, int waits)
    PyLockStatus PyThread_acquire_lock_timed(void *lock, long long microseconds, int interruptible)
    void PyThread_release_lock(void *lock)
    int PY_LOCK_ACQUIRED
    int PY_LOCK_INTR

cdef double _LONGEST = 1e9  # seconds of one wait; a longer one is several


cdef class Mutex:
    """A lock with the methods of `threading.Lock`.

    `_taken` is only changed by whoever has the lock, or is about to take it, with the GIL.
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
        """Take the lock; whether it was taken. `timeout` in seconds, -1 for none."""
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
        """Give the lock back, whoever took it."""
        if not self._taken:
            raise RuntimeError("release unlocked lock")
        self._taken = False
        PyThread_release_lock(self._lock)

    cpdef bint locked(self):
        """Whether somebody has the lock."""
        return self._taken

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()
