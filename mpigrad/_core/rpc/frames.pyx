"""The bytes of frames in C, compiled instead of `frames.py`; and direct calls of MPI for frames.

Headers are little-endian on all machines. Arrays that are not plain (other memory than a frame's, elements that are objects, not
contiguous) use NumPy's functions.

MPI is called directly with mpi4py's handles, since calls through mpi4py take several times as long. Handles are pointers (Open
MPI) or 32-bit integers (MPICH). Both are passed as integers of a pointer's size, of which MPICH reads the lower half; requests
stay in mpi4py's objects. Symbols are looked up in the process's usual order, so that tools that intercept MPI functions (PMPI)
work. All calls release the GIL: MPI may hold an internal lock while the callback of another thread waits for the GIL.
"""

cimport cython
cimport numpy as np
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_FromStringAndSize, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy, memset

import ctypes

import numpy

from mpigrad.distributed.rpc._protocol.message import HEADER, HEADER_SIZE, LENGTH_OFFSET, WIRE_VERSION, other_version

cdef extern from *:
    """
    #include <stdint.h>
    #pragma pack(push, 1)
    typedef struct {
        uint8_t kind, mode;
        uint16_t flags, epoch, transfers;
        uint32_t src, length, name_length, meta_length;
        uint64_t tag;
        int64_t call_id, context_id, message_id, extra, extra2;
        uint8_t version;
        char padding[7];
    } mpigrad_Fields;
    #pragma pack(pop)
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    #define mpigrad_LITTLE_ENDIAN 1
    #else
    #define mpigrad_LITTLE_ENDIAN 0
    #endif
    """
    ctypedef struct Fields "mpigrad_Fields":
        unsigned char kind, mode
        unsigned short flags, epoch, transfers
        unsigned int src, length, name_length, meta_length
        unsigned long long tag
        long long call_id, context_id, message_id, extra, extra2
        unsigned char version
    bint LITTLE_ENDIAN "mpigrad_LITTLE_ENDIAN"

if not LITTLE_ENDIAN or HEADER.size != sizeof(Fields):
    raise ImportError("headers of frames cannot be read in C on this machine: set MPIGRAD_COMPILED=0")

cdef unsigned char VERSION = WIRE_VERSION


@cython.final
@cython.freelist(16)
cdef class Header:
    """The fields of a frame's header (see `message.py`)."""


cpdef Header read_header(frame):
    """Return the header of a received frame; ValueError if the frame is too short or of another wire version."""
    cdef Fields fields
    if not PyByteArray_Check(frame):
        frame = bytearray(frame)
    if PyByteArray_GET_SIZE(frame) < <Py_ssize_t>sizeof(Fields):
        raise ValueError(f"malformed message: {len(frame)} bytes are too few for a header of {sizeof(Fields)}")
    memcpy(&fields, PyByteArray_AS_STRING(frame), sizeof(Fields))
    if fields.version != VERSION:
        raise ValueError(other_version(fields.version))
    cdef Header header = Header.__new__(Header)
    header.kind, header.mode, header.flags, header.epoch = fields.kind, fields.mode, fields.flags, fields.epoch
    header.transfers, header.src, header.length, header.tag = fields.transfers, fields.src, fields.length, fields.tag
    header.name_length, header.meta_length, header.call_id = fields.name_length, fields.meta_length, fields.call_id
    header.context_id, header.message_id = fields.context_id, fields.message_id
    header.extra, header.extra2 = fields.extra, fields.extra2
    return header


cdef inline const unsigned char *_start(frame) except NULL:
    """Return the address of a frame's first 12 bytes, which contain the fields before its length."""
    cdef Py_ssize_t size
    cdef const unsigned char *start
    if PyByteArray_Check(frame):
        size, start = PyByteArray_GET_SIZE(frame), <const unsigned char *>PyByteArray_AS_STRING(frame)
    elif not PyBytes_Check(frame):
        raise TypeError(f"a frame is bytes or a bytearray, not {type(frame).__name__}")
    else:
        size, start = PyBytes_GET_SIZE(frame), <const unsigned char *>PyBytes_AS_STRING(frame)
    if size < 12:
        raise ValueError(f"malformed message: {size} bytes are too few for a header of {sizeof(Fields)}")
    return start


cpdef int kind_of(frame) except -1:
    """Return the type of a frame's message, a number of `MessageType`."""
    return _start(frame)[0]


cpdef int mode_of(frame) except -1:
    """Return how a frame's payload is encoded: EMPTY, FLAT, PICKLE, RAW or CUSTOM."""
    return _start(frame)[1]


cpdef int flags_of(frame) except -1:
    """Return the flags of a frame: a sum of BODY_FOLLOWS, HAS_CONTEXT, IS_TUPLE and OFFERED."""
    cdef const unsigned char *start = _start(frame)
    return start[2] | start[3] << 8


cpdef int epoch_of(frame) except -1:
    """Return the incarnation of the receiver to which a frame was sent; 0 for any."""
    cdef const unsigned char *start = _start(frame)
    return start[4] | start[5] << 8


cpdef int transfers_of(frame) except -1:
    """Return the number of transfers that follow a frame."""
    cdef const unsigned char *start = _start(frame)
    return start[6] | start[7] << 8


def pack_header(
    *, unsigned char kind, unsigned int src, unsigned int length, unsigned char mode=0, unsigned short flags=0,
    unsigned short epoch=0, unsigned short transfers=0, unsigned int name_length=0, unsigned int meta_length=0,
    unsigned long long tag=0, long long call_id=0, long long context_id=0, long long message_id=0, long long extra=0,
    long long extra2=0
):
    """Build the bytes of a header; `length` is that of the whole frame."""
    cdef Fields fields
    memset(&fields, 0, sizeof(Fields))
    fields.kind, fields.mode, fields.flags, fields.epoch, fields.transfers = kind, mode, flags, epoch, transfers
    fields.src, fields.length, fields.name_length, fields.meta_length = src, length, name_length, meta_length
    fields.tag, fields.call_id, fields.context_id, fields.message_id = tag, call_id, context_id, message_id
    fields.extra, fields.extra2, fields.version = extra, extra2, VERSION
    return PyBytes_FromStringAndSize(<char *>&fields, sizeof(Fields))


cpdef bytes build_frame(
    unsigned char kind, unsigned char mode, unsigned short flags, unsigned short epoch, unsigned int src, long long call_id,
    long long context_id, long long message_id, long long extra, long long extra2, bytes data, bytes meta, bytes name
):
    """Build a frame without transfers: the header with these fields, array data, meta and the name of the function."""
    cdef Fields fields
    cdef Py_ssize_t data_length = len(data), meta_length = len(meta), name_length = len(name)
    cdef Py_ssize_t length = <Py_ssize_t>sizeof(Fields) + data_length + meta_length + name_length
    memset(&fields, 0, sizeof(Fields))
    fields.kind, fields.mode, fields.flags, fields.epoch = kind, mode, flags, epoch
    fields.src, fields.length = src, <unsigned int>length
    fields.name_length, fields.meta_length = <unsigned int>name_length, <unsigned int>meta_length
    fields.call_id, fields.context_id, fields.message_id = call_id, context_id, message_id
    fields.extra, fields.extra2, fields.version = extra, extra2, VERSION
    cdef bytes frame = PyBytes_FromStringAndSize(NULL, length)
    cdef char *place = PyBytes_AS_STRING(frame)
    memcpy(place, &fields, sizeof(Fields))
    place += sizeof(Fields)
    memcpy(place, PyBytes_AS_STRING(data), data_length)
    memcpy(place + data_length, PyBytes_AS_STRING(meta), meta_length)
    memcpy(place + data_length + meta_length, PyBytes_AS_STRING(name), name_length)
    return frame


cpdef bytes length_prefixed(bytes text, bytes rest):
    """Return bytes that contain the length of `text`, `text`, and `rest`."""
    cdef Py_ssize_t text_length = len(text), rest_length = len(rest)
    cdef unsigned int length = <unsigned int>text_length
    cdef bytes made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>sizeof(length) + text_length + rest_length)
    cdef char *place = PyBytes_AS_STRING(made)
    memcpy(place, &length, sizeof(length))
    memcpy(place + sizeof(length), PyBytes_AS_STRING(text), text_length)
    memcpy(place + sizeof(length) + text_length, PyBytes_AS_STRING(rest), rest_length)
    return made


cpdef unsigned int length_at(bytes text, Py_ssize_t place) except? 4294967295:
    """Read the length that `length_prefixed` wrote at the position `place`; ValueError if the text is too short for it."""
    cdef unsigned int length
    cdef Py_ssize_t left = len(text) - place - <Py_ssize_t>sizeof(length)
    if place < 0 or left < 0:
        raise ValueError(f"malformed message: a text of {len(text)} bytes has no length at {place}")
    memcpy(&length, PyBytes_AS_STRING(text) + place, sizeof(length))
    if <Py_ssize_t>length > left:
        raise ValueError(f"malformed message: {length} bytes after position {place} of a text of {len(text)}")
    return length


cpdef bytes slice_bytes(buffer, Py_ssize_t start, Py_ssize_t end):
    """Return a copy of the bytes from `start` to `end` of a buffer; ValueError if they are out of range."""
    if not 0 <= start <= end <= len(buffer):
        raise ValueError(f"malformed message: bytes {start} to {end} of {len(buffer)}")
    if not PyByteArray_Check(buffer):
        return bytes(buffer[start:end])
    return PyBytes_FromStringAndSize(PyByteArray_AS_STRING(buffer) + start, end - start)


# -- small arrays ------------------------------------------------------------------------------------------------------
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
    """Return the key under which the layout of an array is cached: kind of entry (ARRAY, TENSOR ...), dtype and shape.

    None for tensors (`kind` above 2) that are not C-contiguous. Valid as long as the dtype object is kept with it.
    """
    cdef Key key
    if kind != 2 and type(array) is _ndarray and not np.PyArray_IS_C_CONTIGUOUS(array):
        return None
    if type(array) is not _ndarray or (<np.ndarray>array).ndim > 8 or not mpigrad_is_one_of_a_kind(array):
        return kind, array.dtype, array.shape
    cdef Py_ssize_t length = (<np.ndarray>array).ndim * sizeof(np.npy_intp)
    key.kind, key.dtype = kind, <void*>np.PyArray_DESCR(array)
    if length:
        memcpy(key.shape, np.PyArray_DIMS(array), length)
    return PyBytes_FromStringAndSize(<char*>&key, <Py_ssize_t>(<char*>key.shape - <char*>&key) + length)


cpdef bytes padded_bytes(array, bytes padding):
    """Return an array's elements as bytes, in C order, followed by padding."""
    if type(array) is not _ndarray or not np.PyArray_IS_C_CONTIGUOUS(array):
        return array.tobytes() + padding
    cdef Py_ssize_t length = np.PyArray_NBYTES(array), more = len(padding)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, length + more)
    memcpy(PyBytes_AS_STRING(made), np.PyArray_DATA(array), length)
    memcpy(PyBytes_AS_STRING(made) + length, PyBytes_AS_STRING(padding), more)
    return made


cpdef view_of(buffer, long long offset, tuple shape, dtype, long long nbytes):
    """Return an array of `nbytes` bytes that is a view of a buffer, from `offset` on; ValueError or TypeError if it does not fit."""
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
    Py_INCREF(dtype)  # PyArray_NewFromDescr steals the reference
    made = PyArray_NewFromDescr(
        _ndarray, dtype, count, dims, NULL, PyByteArray_AS_STRING(buffer) + offset, NPY_ARRAY_WRITEABLE, NULL
    )
    Py_INCREF(buffer)
    PyArray_SetBaseObject(made, buffer)
    PyArray_UpdateFlags(made, NPY_ARRAY_UPDATE_ALL)
    if np.PyArray_NBYTES(made) != nbytes:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} does not have {nbytes} bytes")
    return made


# -- MPI's functions for frames ----------------------------------------------------------------------------------------
ctypedef int (*_Isend)(const void *buffer, int count, Py_ssize_t datatype, int dst, int tag, Py_ssize_t comm, void *request) noexcept nogil
ctypedef int (*_Test)(void *request, int *flag, void *status) noexcept nogil
ctypedef int (*_Start)(void *request) noexcept nogil

cdef enum:
    STATUS_SIZE = 256  # bytes, larger than MPI_Status of any implementation

cdef list _unknown = []  # frames of failed sends, kept because MPI may still read them
cdef Py_ssize_t _header_size = HEADER_SIZE
cdef Py_ssize_t _length_offset = LENGTH_OFFSET


def connect(MPI, comm, int tag, list ring, list buffers):
    """Direct calls for frames with this tag; `ring` are started persistent receives into `buffers`."""
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
    """Sends and receives the frames of one transport."""

    cpdef send(self, frame, int dst):
        """Send a frame. Returns None if the send is complete, else a request that must be tested, and kept until then."""
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
        """The next frame, tested up to `tries` times; None if there is none, empty if it has no header."""
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
        memset(buffer, 0, _header_size)  # or a message that is too short would look like this one
        with nogil:
            code = start(request)
        if code != 0:
            self._raise(code)
        self._at = self._at + 1 if self._at + 1 < self._count else 0
        return frame

    cdef _raise(self, int code):
        raise self._mpi.Exception(code)


cdef class Sending:
    """A pending send of a frame, with the interface of mpi4py's requests."""

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
