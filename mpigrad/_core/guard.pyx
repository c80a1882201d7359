"""The guard, compiled in the place of `guard.py`, which says what it is for: entering and leaving cost a few nanoseconds."""

import _thread
import threading

from mpigrad._core.mutex cimport Mutex

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()

given = {}  # signal -> the program's handler
edges = set()  # compiled functions have no frames, so none of them is ever found here
cdef list _noted = []
cdef int _depth = 0
cdef bint _attention = False  # whether `leave` has more to do than to leave
cdef unsigned long _main = threading.main_thread().ident
cdef object _sleeper = None
cdef object _at_enter = None
cdef object _at_leave = None


def when_entered(run):
    """Have the main thread call `run` before it next enters a section; until it has returned once."""
    global _at_enter
    _at_enter = run


def when_left(run):
    """Have the main thread call `run` when it next leaves its last section; until it has returned once."""
    global _at_leave, _attention
    _at_leave = run
    _attention = run is not None or bool(_noted)


def restart():
    """Begin anew, in the child of a fork: its only thread is the main one now, in no section."""
    global _depth, _main, _sleeper, _attention
    _depth, _main, _sleeper = 0, PyThread_get_thread_ident(), None
    _noted.clear()
    _attention = _at_leave is not None


cpdef int enter() except -2:
    """Begin a section; what `leave` needs."""
    global _depth
    cdef int before
    if PyThread_get_thread_ident() != _main:
        return -1
    if _at_enter is not None:
        _at_enter()
        when_entered(None)
    before = _depth
    _depth = before + 1
    return before


cpdef int leave(int before) except -2:
    """End a section. After the last one the handlers of noted signals run, and may raise."""
    global _depth
    if before < 0:
        return 0
    _depth = before
    if not before and _attention:
        _left()
    return 0


cdef _left():
    if _at_leave is not None:
        _at_leave()
        when_left(None)
    deliver()


def leave_later(int before):
    """`leave`, in a finaliser, where an exception would be lost: handlers of noted signals run a little later."""
    global _depth
    if before >= 0:
        _depth = before
        if _noted and not before:
            _send_again()


def _send_again():
    global _attention
    numbers = list(_noted)
    _noted.clear()
    _attention = _at_leave is not None
    again = threading.Timer(0.001, _arrive, (numbers,))
    again.daemon = True
    again.start()


def _arrive(numbers):
    for number in numbers:
        _thread.interrupt_main(number)


cpdef int suspend() except -2:
    """Leave all sections for code of users; what `resume` needs. Handlers of noted signals run first, and may raise."""
    global _depth
    cdef int before
    if not _depth or PyThread_get_thread_ident() != _main:
        return -1
    if _noted:
        deliver()
    before = _depth
    _depth = 0
    return before


cpdef int resume(int before) noexcept:
    """Be in the same sections again."""
    global _depth
    if before >= 0:
        _depth = before
    return 0


cpdef bint interrupted() noexcept:
    """Whether this is the main thread, and a signal was noted: whoever waits in a section goes where it can `deliver`."""
    return len(_noted) > 0 and PyThread_get_thread_ident() == _main


cpdef int deliver() except -2:
    """Run the handlers of noted signals, here and now; they may raise."""
    global _depth, _attention
    cdef int before
    if not _noted or PyThread_get_thread_ident() != _main:
        return 0
    before = _depth
    _depth = 0
    try:
        while _noted:
            number = _noted.pop(0)
            handler = given.get(number)
            if handler is not None:
                handler(number, None)
    finally:
        _depth = before
        _attention = _at_leave is not None or len(_noted) > 0
        if _noted and not before:  # a handler raised, and nobody comes by here again
            deliver()
    return 0


def note(number, frame):
    """A signal has arrived: whether it was noted. False if its handler may run now."""
    global _attention
    if not _depth and (frame is None or frame.f_code not in edges):
        if number in _noted:  # another of its kind, which the one that came now stands for
            _noted.remove(number)
        return False
    if number not in _noted:
        _noted.append(number)
    _attention = True
    lock = _sleeper
    if lock is not None and lock.locked():
        lock.release()
    return True


cpdef int rest(object lock, double seconds) except -2:
    """Sleep on a lock that this thread has taken, until it is released or the time is over, or a signal arrives."""
    global _sleeper
    if PyThread_get_thread_ident() != _main:
        (<Mutex?>lock).acquire(True, seconds)
        return 0
    _sleeper = lock
    try:
        if not _noted:
            (<Mutex?>lock).acquire(True, seconds)
    finally:
        _sleeper = None
    return 0


def edge(function):
    """Mark a function that enters a section first of all; for plain Python."""
    edges.add(getattr(function, "__code__", None))
    return function
