"""Arrays on the wire: a list of arrays and tensors <-> a layout text, inline bytes, and large arrays that follow on
their own.

Per array the layout holds kind, dtype and shape; both directions are remembered, because programs send the same few
shapes again and again: a lookup costs 0.3 us, building the text 3 us. Inline data is padded to 16 bytes and starts at
an aligned offset, so that the receiver's arrays are views of the received frame: no copy, writable, aligned.

Invariants
- A received array never reaches outside its buffer: numpy checks the offset and length of inline ones, `_fetch` those
  of others.
- An array of more than INLINE_MAX bytes is sent from its own memory (made C-contiguous first when it is not).

Arrays that leave a GPU, or arrive on one, always follow on their own, after the others: `describe_moving`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device, on_device
from mpigrad._array.dtype import of_text, text_of
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._transport.device.failed_receive import FailedReceive

from .codec import layout_key, padded_bytes, view_of

INLINE_MAX = 32 * 1024  # larger arrays travel on their own
MAX_TRANSFERS = 256  # per message; further large arrays go into the body
_REMEMBERED = 4096  # layouts kept in each direction
_PAD = [b"\0" * n for n in range(16)]
_KINDS = "biufcmM?SU"  # dtypes whose text says everything

# Kinds of entries of a layout. Odd ones follow on their own.
ARRAY, TENSOR, TENSOR_GRAD, BUFFER, PLAIN, AGAIN = 2, 4, 6, 8, 10, 12
MOVING = 64  # added to a kind: leaves a GPU or arrives on one

texts: dict[Any, tuple[bytes, bytes | None, Any]] = {}  # by `layout_key`: layout text, padding of inline ones, dtype
_entries: dict[bytes, list[tuple[int, Any, Any, int]]] = {}
_ONE = struct.Struct("<BBB")
_PLACES = struct.Struct("<hhHQ")  # device it left and device it arrives on (-1: host), number of the transfer, offset
_ndarray = np.ndarray


def sendable(array: Any) -> bool:
    """Whether an array can travel as its bytes: a plain numpy array of a simple dtype."""
    return type(array) is _ndarray and (array.dtype.kind in _KINDS or array.dtype.name == "bfloat16")


def describe(kind: int, array: Any) -> bytes:
    """The layout text of one array."""
    name = text_of(array.dtype).encode()
    return _ONE.pack(kind, len(name), array.ndim) + name + struct.pack(f"<{array.ndim}Q", *array.shape)


def known(kind: int, array: Any) -> tuple[bytes, bytes | None, Any] | None:
    """Layout text of an array, and the padding if it travels inline; None for arrays that cannot travel as their bytes.
    """
    if not sendable(array):
        return None
    inline = array.nbytes <= INLINE_MAX
    text, padding = describe(kind if inline else kind + 1, array), _PAD[-array.nbytes & 15] if inline else None
    if len(texts) >= _REMEMBERED:
        texts.clear()
    entry = texts[layout_key(kind, array)] = text, padding, array.dtype
    return entry


def put(kind: int, array: Any, layout: list[bytes], data: list[bytes], follow: list[Any]) -> None:
    """Add one sendable array to a message: its text to `layout`, its bytes to `data` or itself to `follow`."""
    entry = texts.get(layout_key(kind, array)) or known(kind, array)
    if entry is None:
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent as its bytes")
    text, padding, _ = entry
    if padding is not None:
        layout.append(text)
        data.append(padded_bytes(array, padding))
    elif len(follow) < MAX_TRANSFERS:
        layout.append(text)
        follow.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    else:
        layout.append(describe(kind, array))
        data.append(padded_bytes(array, _PAD[-array.nbytes & 15]))


def put_buffer(raw: Any, layout: list[bytes], data: list[bytes], follow: list[Any]) -> None:
    """Add an out-of-band pickle buffer to a message."""
    put(BUFFER, np.frombuffer(raw, dtype=np.uint8), layout, data, follow)


def describe_moving(kind: int, array: Any, source: device, target: device, number: int, offset: int) -> bytes:
    """The layout text of an array that leaves a GPU or arrives on one, in the message's device transfer `number`."""
    name = text_of(array.dtype.newbyteorder("=")).encode()
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    places = _PLACES.pack(_code(source), _code(target), number, offset)
    return _ONE.pack(kind + MOVING, len(name), array.ndim) + name + shape + places


def _code(place: device) -> int:
    return -1 if place is CPU else place.index or 0


def _place(code: int) -> device:
    return CPU if code < 0 else device("cuda", code)


def parse(layout: bytes) -> list[tuple[int, Any, Any, int]]:
    """The entries (kind, dtype, shape, bytes) of a layout text; ValueError when it is malformed.

    AGAIN, a tensor that was there before, has its place among the tensors instead of the bytes.
    """
    entries = _entries.get(layout)
    if entries is None:
        entries = _parse(layout)
        if len(layout) <= 512:
            if len(_entries) >= _REMEMBERED:
                _entries.clear()
            _entries[layout] = entries
    return entries


def _parse(layout: bytes) -> list[tuple[int, Any, Any, int]]:
    entries: list[tuple[int, Any, Any, int]] = []
    at = 0
    try:
        while at < len(layout):
            kind = layout[at]
            if kind == PLAIN:
                entries.append((PLAIN, None, None, 0))
                at += 1
                continue
            if kind == AGAIN:
                entries.append((AGAIN, None, None, layout[at + 1]))
                at += 2
                continue
            _, length, ndim = _ONE.unpack_from(layout, at)
            at += 3
            dtype = _checked_dtype(layout[at : at + length].decode("ascii"))
            shape = struct.unpack_from(f"<{ndim}Q", layout, at + length)
            at += length + 8 * ndim
            if kind > MOVING:
                source, target, number, offset = _PLACES.unpack_from(layout, at)
                at += _PLACES.size
                _checked_kind(kind - MOVING)
                moving = shape, _place(source), _place(target), number, offset
                entries.append((kind, dtype, moving, dtype.itemsize * _product(shape)))
                continue
            entries.append((_checked_kind(kind), dtype, shape, dtype.itemsize * _product(shape)))
    except (struct.error, IndexError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"malformed message: bad array layout {layout[:64]!r}: {error}") from None
    return entries


def _checked_dtype(name: str) -> Any:
    """A dtype whose elements are numbers or text: bytes of a message must never be taken for addresses of objects."""
    dtype = of_text(name)
    if name == "bfloat16":
        return dtype
    if dtype.kind not in _KINDS or dtype.subdtype is not None:
        raise ValueError(f"malformed message: arrays of dtype {name!r} do not travel as bytes")
    return dtype


def _checked_kind(kind: int) -> int:
    if not ARRAY <= kind <= BUFFER + 1:
        raise ValueError(f"malformed message: array kind {kind} is unknown")
    return kind


def _product(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def take(
    entries: list[tuple[int, Any, Any, int]], buffer: Any, offset: int, followed: list[Any], plain: tuple[Any, ...]
) -> tuple[list[Any], list[Tensor]]:
    """The values that a layout describes, and the tensors among them. `followed` are the arrays that came on their own.
    """
    values: list[Any] = []
    tensors: list[Tensor] = []
    nth_plain = nth_followed = 0
    for kind, dtype, shape, nbytes in entries:
        if kind == TENSOR or kind == TENSOR_GRAD:
            tensor = wrap(view_of(buffer, offset, shape, dtype, nbytes))
            if kind == TENSOR_GRAD:
                tensor._requires = True
            offset += (nbytes + 15) & -16
            tensors.append(tensor)
            values.append(tensor)
            continue
        if kind == PLAIN:
            values.append(plain[nth_plain])
            nth_plain += 1
            continue
        if kind == AGAIN:
            if nbytes >= len(tensors):
                raise ValueError(f"malformed message: tensor {nbytes} is named a second time before it came")
            values.append(tensors[nbytes])
            continue
        if kind > MOVING:
            values, tensors = _origins(values, tensors)
            _take_moving(kind - MOVING, dtype, shape, nbytes, _moved(entries, followed), values, tensors)
            continue
        if kind & 1:
            array = _fetch(followed, nth_followed, dtype, shape, nbytes)
            nth_followed += 1
        else:
            array = view_of(buffer, offset, shape, dtype, nbytes)
            offset += (nbytes + 15) & -16
        if TENSOR <= kind < BUFFER:
            array = wrap(array)
            array._requires = kind >= TENSOR_GRAD
            tensors.append(array)
        values.append(array)
    return values, tensors


def _fetch(followed: list[Any], nth: int, dtype: Any, shape: tuple[int, ...], nbytes: int) -> Any:
    if nth >= len(followed) or followed[nth].nbytes != nbytes:
        raise ValueError(
            f"malformed message: array {nth} of shape {shape} and dtype {dtype} did not come with its {nbytes} bytes"
        )
    return followed[nth].view(dtype).reshape(shape)


def _no_place(block: np.ndarray, target: device) -> Exception:
    if isinstance(block, FailedReceive):
        return RuntimeError(f"{block.nbytes} bytes could not be received on {target}: {block.error}")
    return RuntimeError(f"an array for {target} came to a worker that uses no GPU: see its options devices, device_maps")


class ReceivedValues(list[Any]):
    """Values (or the tensors among them) of a message, with the devices that some of them left, by their places."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.origins: dict[int, device] = {}


def origins_of(values: list[Any]) -> dict[int, device] | None:
    """By place, the devices of the sender that values have left; None if none of them left or reached a GPU."""
    return values.origins if type(values) is ReceivedValues else None


def _origins(values: list[Any], tensors: list[Tensor]) -> tuple[ReceivedValues, ReceivedValues]:
    if type(values) is ReceivedValues and type(tensors) is ReceivedValues:
        return values, tensors
    return ReceivedValues(values), ReceivedValues(tensors)


def _moved(entries: list[tuple[int, Any, Any, int]], followed: list[Any]) -> list[Any]:
    """The device transfers of a message, which come after the others."""
    return followed[sum(1 for entry in entries if entry[0] < MOVING and entry[0] & 1) :]


def _take_moving(
    kind: int, dtype: Any, moving: Any, nbytes: int, transfers: list[Any], values: ReceivedValues, tensors: ReceivedValues
) -> None:
    shape, source, target, number, offset = moving
    if number >= len(transfers) or offset + nbytes > transfers[number].nbytes:
        raise ValueError(f"malformed message: an array of shape {shape} and dtype {dtype} did not come with its bytes")
    block = transfers[number]
    if isinstance(block, _ndarray) and target is not CPU:
        raise _no_place(block, target)
    with on_device(target):
        array = block[offset : offset + nbytes].view(dtype).reshape(shape) if nbytes else _empty(block, shape, dtype)
    values.origins[len(values)] = source
    if kind == ARRAY:
        values.append(array)
        return
    tensor = wrap(array)
    tensor._requires = kind >= TENSOR_GRAD
    tensors.origins[len(tensors)] = source
    tensors.append(tensor)
    values.append(tensor)


def _empty(block: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return type(block)(shape, dtype)
