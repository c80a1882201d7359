"""Messages: their types and the fixed header that opens every frame.

A frame is `header | array data | meta | function | table of the transfers that follow`. Array data comes first so that its
offset is fixed, and so aligned, whatever the lengths of the texts. `meta` is described in `_core/rpc/payload.py`.
"""

from __future__ import annotations

import struct
from enum import IntEnum


class MessageType(IntEnum):
    """The type of a frame. Types that PyTorch has keep its names, because faults are injected by name."""

    SCRIPT_CALL = 0
    SCRIPT_RET = 1
    PYTHON_CALL = 2
    PYTHON_RET = 3
    SCRIPT_REMOTE_CALL = 4
    PYTHON_REMOTE_CALL = 5
    REMOTE_RET = 6
    SCRIPT_RREF_FETCH_CALL = 7
    PYTHON_RREF_FETCH_CALL = 8
    SCRIPT_RREF_FETCH_RET = 9
    PYTHON_RREF_FETCH_RET = 10
    RREF_USER_DELETE = 11
    RREF_FORK_REQUEST = 12
    RREF_CHILD_ACCEPT = 13
    RREF_ACK = 14
    FORWARD_AUTOGRAD_REQ = 15
    FORWARD_AUTOGRAD_RESP = 16
    BACKWARD_AUTOGRAD_REQ = 17
    BACKWARD_AUTOGRAD_RESP = 18
    CLEANUP_AUTOGRAD_CONTEXT_REQ = 19
    CLEANUP_AUTOGRAD_CONTEXT_RESP = 20
    RUN_WITH_PROFILING_REQ = 21
    RUN_WITH_PROFILING_RESP = 22
    RREF_BACKWARD_REQ = 23
    RREF_BACKWARD_RESP = 24
    REACH_AUTOGRAD_REQ = 25
    REACH_AUTOGRAD_RESP = 26
    HOLD_AUTOGRAD_REQ = 27
    REACHED_AUTOGRAD = 28
    DONE_AUTOGRAD = 29
    FAILED_AUTOGRAD = 30
    ABORT_AUTOGRAD = 31
    KNOW_AUTOGRAD_CONTEXT_REQ = 32
    EXCEPTION = 40
    REPLY = 41
    JOIN = 42
    WELCOME = 43
    LEAVE = 44
    REPORT = 45
    PROBE = 46
    CLOSE = 47
    DEPART = 50
    BYE = 51
    DECLINE = 52
    LOST = 53
    HEARTBEAT = 54
    UNKNOWN = 255


# Calls of mpigrad's operators, which cannot block and so run on the receiving thread. PyTorch uses this type for its own.
OPERATOR_CALL = int(MessageType.SCRIPT_CALL)

NAMES = {int(kind): kind.name for kind in MessageType}

WIRE_VERSION = 2  # of frames and of the ids in them; all workers of a world must have the same
MAX_WORKERS = 1 << 24  # ids of contexts, messages, RRefs and passes have room for so many

# type, mode, flags, epoch of the receiver, number of transfers that follow, rank of the sender, length of this frame,
# length of the function, length of meta, first tag of the transfers, call id, context id, autograd message id, two
# fields that are free for the type (RRef and fork ids), WIRE_VERSION. A multiple of 16 bytes, for the alignment of array data.
HEADER = struct.Struct("<BBHHHIIIIQqqqqqB7x")
HEADER_SIZE = HEADER.size
TRANSFER = struct.Struct("<Q")
KIND_OFFSET, MODE_OFFSET, FLAGS_OFFSET, EPOCH_OFFSET, TRANSFERS_OFFSET, LENGTH_OFFSET = 0, 1, 2, 4, 6, 12
LENGTH = struct.Struct("<I")


def other_version(version: int) -> str:
    """Return the text of the error for a frame of another wire version; 0 stands for versions that did not write it."""
    return f"a frame of wire version {version or 1}, but this worker has {WIRE_VERSION}: all workers need the same mpigrad"


# How the payload is encoded (field "mode").
EMPTY = 0  # no arguments; None as a result
FLAT = 1  # a tuple of arrays, tensors and plain scalars: no pickle of arrays
PICKLE = 2  # anything; arrays out of band
RAW = 3  # bytes and a list of arrays: for other layers' internal messages
CUSTOM = 4  # by the pickler of `use_rpc_pickler`
NO_CALL = 0  # call id of a message that has no answer

# Flags
BODY_FOLLOWS = 1  # the body did not fit into the frame: the first transfer is it
HAS_CONTEXT = 2  # sent inside an autograd context
IS_TUPLE = 4  # a flat result that is a tuple of values, not one value
OFFERED = 8  # ends with offers of arrays (`_core/rpc/mpi.py`); transports set it and remove it again
