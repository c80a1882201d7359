"""Wire format: payloads <-> meta, data and arrays; frames <-> header and parts.

`meta` is `u32 length of layout | layout | rest`, where the rest depends on the mode: FLAT a pickled tuple of the plain
scalars (or nothing), PICKLE `u32 length of RRef data | RRef data | pickle`, RAW the bytes as given. EMPTY has no meta.

Budget on the hot path (2 us each way): one dictionary lookup for the function, one per array layout, one struct, one
join.
"""

from __future__ import annotations

import pickle
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mpigrad._array.device import device, device_of
from mpigrad._core.guard import resume, suspend
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.message import (
    BODY_FOLLOWS,
    CUSTOM,
    EMPTY,
    FLAT,
    HEADER_SIZE,
    PICKLE,
    RAW,
    TRANSFER,
)

from .arrays import AGAIN, ARRAY, BUFFER, PLAIN, TENSOR, TENSOR_GRAD, known, parse, put, take, texts
from .codec import Header, layout_key, length_at, length_prefixed, padded_bytes, slice_bytes
from .pickling import Tables, dumps, internal_pickler, loads

if TYPE_CHECKING:
    from .agent import Agent

_U32 = struct.Struct("<I")
_TRANSFER_SIZE = TRANSFER.size
_NO_LAYOUT = _U32.pack(0)
_flat: dict[bytes, Any] = {}  # meta of messages without plain scalars -> entries of their layout
_PLAIN_TYPES = frozenset({int, float, bool, str, bytes, complex, type(None)})
_PLAIN_MARK = bytes([PLAIN])
_AGAIN_MARKS = [bytes([AGAIN, place]) for place in range(8)]  # of the tensors that are looked for when another one comes
_ndarray = np.ndarray



class Payload:
    """Encoded arguments or results: all of a message but its header."""

    __slots__ = ("data", "follow", "meta", "mode", "tensors")

    mode: int  # how it is encoded
    data: bytes  # of the arrays that travel inside the frame
    meta: bytes
    follow: list[Any]  # arrays that follow on their own
    tensors: list[Tensor]  # all that are in it, for the interceptor


def _payload(mode: int, data: bytes, meta: bytes, follow: list[Any], tensors: list[Tensor]) -> Payload:
    made = Payload.__new__(Payload)  # twice as fast, compiled, as a call of the class
    made.mode, made.data, made.meta, made.follow, made.tensors = mode, data, meta, follow, tensors
    return made


custom_pickler: Any = None  # see `use_pickler`
host_maps = 0  # how many agents of the process have device maps that move tensors of the host
_never_flat = False  # because of either of these
NOTHING = _payload(EMPTY, b"", b"", [], [])


class ArrayForDevice(NamedTuple):
    """An array in a message without pickle, and the device on which it shall arrive."""

    array: Any
    target: device


def use_pickler(pickler: Any) -> Any:
    """Install a pickler for all payloads (None: our own); the one before."""
    global custom_pickler, _never_flat
    before, custom_pickler = custom_pickler, pickler
    _never_flat = pickler is not None or host_maps > 0
    return before


def count_host_maps(change: int) -> None:
    """An agent whose device maps move tensors of the host came (1) or went (-1)."""
    global host_maps, _never_flat
    host_maps += change
    _never_flat = custom_pickler is not None or host_maps > 0


def encode_flat(items: tuple[Any, ...]) -> Payload | None:
    """Encode a tuple of arrays, tensors and plain scalars; None if anything else is in it. A tensor that is in it twice arrives
    as one: it is named again if it is one of the first; otherwise pickle sees to that, and this returns None.
    """
    if _never_flat or type(items) is not tuple:
        return None
    text = b""
    data: list[bytes] = []
    follow: list[Any] = []
    tensors: list[Tensor] = []
    plain: list[Any] = []
    for item in items:
        kind = type(item)
        if kind is Tensor:
            tensor = item
            if tensors:
                place = _place_of(tensor, tensors)
                if place >= 0:
                    text += _AGAIN_MARKS[place]
                    continue
            array, code = tensor._array, TENSOR_GRAD if tensor._requires else TENSOR
            tensors.append(tensor)
        elif kind in _PLAIN_TYPES:
            plain.append(item)
            text += _PLAIN_MARK
            continue
        else:
            array, code = item, ARRAY
        if type(array) is not _ndarray:
            return None
        entry = texts.get(layout_key(code, array)) or known(code, array)
        if entry is None:
            return None
        padding = entry[1]
        if padding is not None:
            text += entry[0]
            data.append(padded_bytes(array, padding))
        else:
            layout: list[bytes] = []
            put(code, array, layout, data, follow)
            text += layout[0]
    if len(tensors) > len(_AGAIN_MARKS) and len(set(map(id, tensors))) != len(tensors):
        return None
    meta = length_prefixed(text, pickle.dumps(tuple(plain), 5) if plain else b"")
    return _payload(FLAT, b"".join(data), meta, follow, tensors)


def _place_of(tensor: Tensor, tensors: list[Tensor]) -> int:
    """The place of a tensor among the first ones; -1 if it is none of them."""
    for place in range(min(len(tensors), len(_AGAIN_MARKS))):
        if tensors[place] is tensor:
            return place
    return -1


def encode_any(agent: Agent, dst: int, obj: Any, what: str = "Request") -> Payload:
    """Encode any object that pickle or cloudpickle can; `what` is "Request" or "Response", for error messages."""
    if custom_pickler is not None:
        return _encode_custom(obj, (agent, dst, what))
    before = suspend()
    try:
        text, tables = dumps(obj, (agent, dst, what))
    finally:
        resume(before)
    hook = extensions.rref_hook
    rrefs = hook.pack(agent, dst, tables.rrefs) if hook is not None and tables.rrefs else b""
    layout = b"".join(tables.layout)
    meta = b"".join((_U32.pack(len(layout)), layout, _U32.pack(len(rrefs)), rrefs, text))
    return _payload(PICKLE, b"".join(tables.data), meta, tables.followers(), tables.tensors + tables.sparse)


def take_back(agent: Agent, dst: int, payload: Payload) -> None:
    """Undo the forks of RRefs in a payload that could not be sent."""
    hook = extensions.rref_hook
    if hook is None or payload.mode != PICKLE:
        return
    meta = payload.meta
    place = _U32.size + _U32.unpack_from(meta)[0]
    (length,) = _U32.unpack_from(meta, place)
    hook.undo(agent, dst, meta[place + _U32.size : place + _U32.size + length])


def _encode_custom(obj: Any, to: Any) -> Payload:
    before = suspend()
    try:
        text, tensors = custom_pickler.serialize(obj)
    finally:
        resume(before)
    tensors = list(tensors)
    raw = encode_raw(text, tensors, to)
    return _payload(CUSTOM, raw.data, raw.meta, raw.follow, tensors)


def encode_raw(body: bytes, arrays: list[Any], to: Any = None) -> Payload:
    """Encode bytes and a list of arrays or tensors, with no pickle at all; `to` as in `Tables`."""
    if not arrays:
        return _payload(RAW, b"", _NO_LAYOUT + body, [], [])
    text = b""
    data = []
    for array in arrays:  # small arrays of known shapes: nothing to build
        entry = texts.get(layout_key(ARRAY, array)) if type(array) is _ndarray else None
        if entry is None or entry[1] is None:
            break
        text += entry[0]
        data.append(padded_bytes(array, entry[1]))
    else:
        return _payload(RAW, b"".join(data), length_prefixed(text, bytes(body)), [], [])
    tables = Tables(to)
    for array in arrays:
        if type(array) is Tensor:
            add = tables.add if to is None else tables.add_routed
            add(TENSOR_GRAD if array._requires else TENSOR, array._array)
        elif type(array) is ArrayForDevice:
            tables.add_for(ARRAY, array.array, device_of(array.array), array.target)
        else:
            tables.add(ARRAY, array)
    layout = b"".join(tables.layout)
    meta = b"".join((_U32.pack(len(layout)), layout, body))
    return _payload(RAW, b"".join(tables.data), meta, tables.followers(), [])


def decode_frame(agent: Agent, frame: Any, header: Header) -> tuple[Any, list[Tensor], bytes]:
    """The payload of a received frame, the tensors in it, and the name of the function that it asks for.

    FLAT gives a list of items, PICKLE the object, RAW (body, arrays). The frame gives the arrays that followed it away, so that
    the receiver of the value may be their only owner.
    """
    buffer, offset, meta, name, followed = parts(frame, header)
    value, tensors = _decode(agent, header.src, header.mode, buffer, offset, meta, followed)
    return value, tensors, name


def parts(frame: Any, header: Header) -> tuple[Any, int, bytes, bytes, Any]:
    """Where the parts of a frame lie: buffer and offset of the array data, meta, function name, and the arrays that followed.

    ValueError if they cannot lie there.
    """
    length, name_length, meta_length = header.length, header.name_length, header.meta_length
    if not header.transfers:
        if length != len(frame):
            raise ValueError(f"malformed message: {length} bytes announced, {len(frame)} received")
        if HEADER_SIZE + meta_length + name_length > length:
            raise ValueError(
                f"malformed message: function of {name_length} and meta of {meta_length} bytes in a frame of {length}"
            )
        middle = length - name_length
        return frame, HEADER_SIZE, slice_bytes(frame, middle - meta_length, middle), slice_bytes(frame, middle, length), ()
    followed, frame.followed = frame.followed, []
    if isinstance(followed, Exception):
        raise followed
    if header.flags & BODY_FOLLOWS:
        buffer, end, offset = followed[0], followed[0].nbytes, 0
        followed = followed[1:]
    else:
        buffer, end, offset = frame, length - _TRANSFER_SIZE * header.transfers, HEADER_SIZE
    middle = end - name_length
    start = middle - meta_length
    if start < offset:
        raise ValueError(f"malformed message: function of {name_length} and meta of {meta_length} bytes in a body of {end}")
    return buffer, offset, slice_bytes(buffer, start, middle), slice_bytes(buffer, middle, end), followed


def _decode(
    agent: Agent, src: int, mode: int, buffer: Any, offset: int, meta: bytes, followed: list[Any]
) -> tuple[Any, list[Tensor]]:
    if mode == EMPTY:
        return (), []
    entries = _flat.get(meta)
    if entries is not None and mode == FLAT:
        return take(entries, buffer, offset, followed, ())
    end = 4 + length_at(meta, 0)
    entries = parse(meta[4:end])
    if mode == FLAT:
        plain = pickle.loads(meta[end:]) if end < len(meta) else ()
        if end == len(meta) <= 256:
            if len(_flat) >= 4096:
                _flat.clear()
            _flat[meta] = entries
        return take(entries, buffer, offset, followed, plain)
    values, tensors = take(entries, buffer, offset, followed, ())
    if mode == RAW:
        return (meta[end:], values), tensors
    if mode == CUSTOM:
        pickler = custom_pickler or internal_pickler
        before = suspend()
        try:
            return pickler.deserialize(bytes(meta[end:]), values), tensors
        finally:
            resume(before)
    if mode != PICKLE:
        raise ValueError(f"malformed message: payload mode {mode} is unknown")
    return _decode_pickle(agent, src, meta, end, entries, values, tensors)


def _decode_pickle(
    agent: Agent, src: int, meta: bytes, at: int, entries: list[Any], values: list[Any], tensors: list[Tensor]
) -> tuple[Any, list[Tensor]]:
    start = at + 4 + _U32.unpack_from(meta, at)[0]
    data = meta[at + 4 : start]
    hook = extensions.rref_hook
    rrefs = hook.unpack(agent, src, data) if hook is not None and data else []
    buffers = [value for entry, value in zip(entries, values) if BUFFER <= entry[0] <= BUFFER + 1]
    before = suspend()
    try:
        return loads(memoryview(meta)[start:], values, buffers, rrefs, tensors), tensors
    finally:
        resume(before)
