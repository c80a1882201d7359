"""MPI's functions for frames, called with mpi4py's handles but without mpi4py in between, which takes several times as long.

Handles are pointers (Open MPI) or 32-bit integers (MPICH). Both are passed on as integers of a pointer's size, of which MPICH reads the
lower half, and requests stay where mpi4py's objects have them. The functions are those that the process finds first, so that tools
which stand in for MPI's functions (PMPI) are called.

Every function is called without the GIL: MPI may hold a lock of its own while another thread's callback waits for the GIL.
"""

import ctypes

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_FromStringAndSize, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_GET_SIZE
from libc.string cimport memcpy, memset

from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE, LENGTH_OFFSET

ctypedef int (*_Isend)(const void *buffer, int count, Py_ssize_t datatype, int dst, int tag, Py_ssize_t comm, void *request) noexcept nogil
ctypedef int (*_Test)(void *request, int *flag, void *status) noexcept nogil
ctypedef int (*_Start)(void *request) noexcept nogil

cdef enum:
    STATUS_SIZE = 256  # bytes, more than any MPI's status has

cdef list _unknown = []  # frames that MPI may still read, although it says that something is wrong with them
cdef Py_ssize_t _header_size = HEADER_SIZE
cdef Py_ssize_t _length_offset = LENGTH_OFFSET


def connect(MPI, comm, int tag, list ring, list buffers):
    """Direct calls for frames of this tag, received by a ring of started persistent receives into these buffers."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "MPI_Isend"):
        library = ctypes.CDLL(MPI.__file__)
    cdef Direct made = Direct.__new__(Direct)
    made._mpi, made._ring, made._buffers, made._tag = MPI, ring, buffers, tag
    made._isend, made._test, made._start = _address(library.MPI_Isend), _address(library.MPI_Test), _address(library.MPI_Start)
    made._byte, made._comm = _handle(MPI, MPI.BYTE), _handle(MPI, comm)
    made._count = len(ring)
    for nth in range(made._count):
        made._requests[nth] = <void *><size_t>MPI._addressof(ring[nth])
    return made


cdef void *_address(function) except NULL:
    return <void *><size_t>ctypes.cast(function, ctypes.c_void_p).value


cdef Py_ssize_t _handle(MPI, thing) except? -1:
    cdef size_t handle = MPI._handleof(thing) & 0xFFFFFFFFFFFFFFFF
    return <int>handle if MPI._sizeof(thing) == sizeof(int) else <Py_ssize_t>handle


cdef class Direct:
    """The frames of one transport, sent and received."""

    cpdef send(self, frame, int dst):
        """Send a frame. Returns None if that is over already, else what is to be tested, and kept until it is."""
        cdef const char *start
        cdef Py_ssize_t length
        cdef int code, over = 0, tag = self._tag
        cdef bint sent = False
        cdef void *request = NULL
        cdef char status[STATUS_SIZE]
        cdef _Isend isend = <_Isend>self._isend
        cdef _Test test = <_Test>self._test
        if PyBytes_Check(frame):
            start, length = PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame)
        elif PyByteArray_Check(frame):
            start, length = PyByteArray_AS_STRING(frame), PyByteArray_GET_SIZE(frame)
        else:
            raise TypeError(f"a frame is bytes or a bytearray, not {type(frame).__name__}")
        with nogil:
            code = isend(start, <int>length, self._byte, dst, tag, self._comm, &request)
            if code == 0:
                code, sent = test(&request, &over, status), True
        if code != 0:
            if sent:
                _unknown.append(frame)
            self._raise(code)
        return None if over else _sending(self, request, frame)

    cpdef take(self, int tries):
        """The next frame, which is looked for so many times; None if there is none, empty if it has no header."""
        cdef int code, over = 0
        cdef void *request = self._requests[self._at]
        cdef unsigned int length
        cdef char *buffer
        cdef char status[STATUS_SIZE]
        cdef _Test test = <_Test>self._test
        cdef _Start start = <_Start>self._start
        with nogil:
            code = test(request, &over, status)
            while code == 0 and not over and tries > 1:
                tries -= 1
                code = test(request, &over, status)
        if code != 0:
            self._raise(code)
        if not over:
            return None
        received = self._buffers[self._at]
        buffer = PyByteArray_AS_STRING(received)
        memcpy(&length, buffer + _length_offset, sizeof(length))
        if length and not _header_size <= <Py_ssize_t>length <= PyByteArray_GET_SIZE(received):
            length = <unsigned int>_header_size
        frame = PyByteArray_FromStringAndSize(buffer, length)
        memset(buffer, 0, _header_size)  # a message that is too short must not be taken for this one
        with nogil:
            code = start(request)
        if code != 0:
            self._raise(code)
        self._at = self._at + 1 if self._at + 1 < self._count else 0
        return frame

    cdef _raise(self, int code):
        raise self._mpi.Exception(code)


cdef class Sending:
    """A frame on its way, with the interface of mpi4py's requests."""

    cdef Direct _direct
    cdef void *_request
    cdef object _frame

    def Test(self):
        """Whether the frame has been sent."""
        cdef int code, over = 0
        cdef char status[STATUS_SIZE]
        cdef _Test test = <_Test>self._direct._test
        cdef void **request = &self._request
        with nogil:
            code = test(request, &over, status)
        if code != 0:
            self._direct._raise(code)
        return bool(over)


cdef Sending _sending(Direct direct, void *request, frame):
    cdef Sending made = Sending.__new__(Sending)
    made._direct, made._request, made._frame = direct, request, frame
    return made
