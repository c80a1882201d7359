"""The wire format of payloads: arguments and results <-> meta, data and arrays of a frame.

`meta` is `u32 length of layout | layout | rest`, where the rest depends on the mode: FLAT a pickled tuple of the plain
scalars (or nothing), PICKLE `u32 length of RRef data | RRef data | pickle`, RAW the bytes as given. EMPTY has no meta.
The hot path has a budget of 2 us each way: one dictionary lookup for the function, one per array layout, one struct, one join.

Arrays: a list of arrays and tensors <-> a layout text, inline bytes, and large arrays that follow the frame. The layout contains
kind, dtype and shape of each array. Both directions are cached, because programs send the same few shapes repeatedly: a lookup
costs 0.3 us, building the text 3 us. Inline data is padded to 16 bytes and starts at an aligned offset, so that the receiver's
arrays are views of the received frame: not copied, writable, aligned. Arrays that leave a GPU or arrive on one always follow the
frame, after the others: `describe_moving`.

Pickles: any Python object <-> a pickle without its arrays, tensors and RRefs. While pickling, each of these is put into a table,
and the pickle contains its index. The tables are sent with the pickle: arrays as raw bytes, RRefs as encoded by the RRef hook
*after* pickling has succeeded, so that a failed attempt leaves no fork behind. If plain pickle fails (closures, lambdas, local
classes), cloudpickle is used.

Invariants
- A received array never exceeds its buffer: NumPy checks offset and length of inline arrays, `_fetch` those of others.
- An array of more than INLINE_MAX bytes is sent from its own memory, without a copy (if it is C-contiguous, or a tensor).
- A tensor of another framework is encoded like one of ours, with the framework's name and a description after its layout. Its
  adapter (`mpigrad.interop`) turns it into an array, and the array into a tensor. In lists of tensors a `GuestTensor` stands
  for it.
- A tensor keeps its strides: the memory from its first to its last element is sent, gaps included, with the strides. A view of
  much larger memory (RECOPY_MIN) is copied first, in the same order of dimensions, as in PyTorch.
"""

from __future__ import annotations

import io
import pickle
import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mpigrad._array.device import CPU, array_module, device, device_of, on_device
from mpigrad._array.dtype import of_text, text_of
from mpigrad._cloud_pickle import reduced_by_name
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
from mpigrad.distributed.rpc._transport.device.send import DevicePacker
from mpigrad.interop._adapters import TensorAdapter, adapter_named, adapter_of

from ..guard import resume, suspend
from ..tensor import GuestTensor, guest, wrap, wrap_as
from .frames import Header, layout_key, length_at, length_prefixed, padded_bytes, slice_bytes, view_of

if TYPE_CHECKING:
    from .agent import Agent


# -- arrays ------------------------------------------------------------------------------------------------------------
INLINE_MAX = 32 * 1024  # larger arrays follow the frame
MAX_TRANSFERS = 256  # per message; further large arrays go into the body
# PyTorch's limits: a tensor whose memory block has at least so many bytes, and is so many times larger, is copied first
RECOPY_MIN, RECOPY_MULTIPLE = 8 * 1024, 2
_REMEMBERED = 4096  # layouts kept in each direction
_PAD = [b"\0" * n for n in range(16)]
_KINDS = "biufcmM?SU"  # dtypes that their text describes completely

# Kinds of entries of a layout; odd numbers mean that the array follows the frame.
ARRAY, TENSOR, TENSOR_GRAD, BUFFER, PLAIN, AGAIN, GUEST, GUEST_GRAD = 2, 4, 6, 8, 10, 12, 14, 16
STRIDED = 32  # added to the kind of a tensor that is not C-contiguous: shape and strides follow those of its memory
MOVING = 64  # added to a kind: leaves a GPU or arrives on one

texts: dict[Any, tuple[bytes, bytes | None, Any]] = {}  # by `layout_key`: layout text, padding of inline ones, dtype
_entries: dict[bytes, list[tuple[int, Any, Any, int]]] = {}
_ONE = struct.Struct("<BBB")
_PLACES = struct.Struct("<hhHQ")  # device it left and device it arrives on (-1: host), number of the transfer, offset
_ndarray = np.ndarray


def sendable(array: Any) -> bool:
    """Return whether an array can be sent as its bytes: a NumPy array, of no subclass, of numbers, times, text or bfloat16."""
    return type(array) is _ndarray and (array.dtype.kind in _KINDS or array.dtype.name == "bfloat16")


def describe(kind: int, array: Any) -> bytes:
    """Return the layout text of one array: kind of entry (ARRAY, TENSOR ...), dtype and shape."""
    name = text_of(array.dtype).encode()
    return _ONE.pack(kind, len(name), array.ndim) + name + struct.pack(f"<{array.ndim}Q", *array.shape)


def known(kind: int, array: Any) -> tuple[bytes, bytes | None, Any] | None:
    """Compute and cache the layout of an array: its text, the padding after its bytes (None if it follows the frame), its dtype.

    None if the array is not `sendable`.
    """
    if not sendable(array):
        return None
    if kind != ARRAY and not array.flags.c_contiguous:
        return b"", None, array.dtype  # `put` knows how
    inline = array.nbytes <= INLINE_MAX
    text, padding = describe(kind if inline else kind + 1, array), _PAD[-array.nbytes & 15] if inline else None
    if len(texts) >= _REMEMBERED:
        texts.clear()
    entry = texts[layout_key(kind, array)] = text, padding, array.dtype
    return entry


def put(kind: int, array: Any, layout: list[bytes], data: list[bytes], follow: list[Any]) -> None:
    """Add one array to a message: its text to `layout`; its bytes to `data` if it is small, otherwise the array to `follow`.

    TypeError if it is not `sendable`.
    """
    if kind != ARRAY and not array.flags.c_contiguous:
        array, strided = _memory_of(array)
        if strided:
            _put_strided(kind, array, strided, layout, data, follow)
            return
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


def _put_strided(
    kind: int, memory: Any, strided: bytes, layout: list[bytes], data: list[bytes], follow: list[Any]
) -> None:
    """Add the memory of a tensor that is not C-contiguous; `strided` is the text of its shape and strides in this memory."""
    inline = memory.nbytes <= INLINE_MAX or len(follow) >= MAX_TRANSFERS
    layout.append(describe(kind + STRIDED + (not inline), memory) + strided)
    if inline:
        data.append(padded_bytes(memory, _PAD[-memory.nbytes & 15]))
    else:
        follow.append(memory)


def _memory_of(array: Any) -> tuple[Any, bytes]:
    """Return the memory of an array that is not C-contiguous, as a vector, and the text of its shape and strides there.

    If the memory is much larger than the array, or the strides cannot be sent (negative), returns a C-contiguous copy and
    an empty text.
    """
    owner, size, module = array, array.dtype.itemsize, array_module(array)
    while type(owner.base) is type(array):
        owner = owner.base
    if owner.nbytes >= RECOPY_MIN and owner.nbytes >= RECOPY_MULTIPLE * array.nbytes:
        array = array.copy("K")
    if array.flags.c_contiguous or any(stride < 0 or stride % size for stride in array.strides):
        return module.ascontiguousarray(array), b""
    count = 1 + sum((length - 1) * stride for length, stride in zip(array.shape, array.strides)) // size
    text = struct.pack(f"<B{2 * array.ndim}Q", array.ndim, *array.shape, *array.strides)
    return module.lib.stride_tricks.as_strided(array, (count,), (size,)), text


def _guest_for(adapter: TensorAdapter, tensor: Any) -> GuestTensor | None:
    """Return the `GuestTensor` that stands for another framework's tensor; None if that cannot be sent as one array."""
    description = adapter.describe(tensor)
    if description is None:
        return None
    return guest(adapter, tensor, adapter.array_of(tensor), description, adapter.requires_grad(tensor))


def stand_in(tensor: Any) -> Any:
    """Return a tensor of ours unchanged, and for one of another framework its `GuestTensor`."""
    adapter = None if isinstance(tensor, Tensor) else adapter_of(type(tensor))
    return tensor if adapter is None else _guest_for(adapter, tensor)


_tags: dict[tuple[str, bytes], bytes] = {}


def _tag(adapter: TensorAdapter, description: bytes) -> bytes:
    """Return the text after the layout of another framework's tensor: its length, the name of the framework, its description."""
    tag = _tags.get((adapter.name, description))
    if tag is None:
        text = adapter.name.encode() + b"\0" + description
        if len(text) > 255:
            raise ValueError(f"the description {description!r} of a tensor of {adapter.name} is too long: at most 100 bytes")
        if len(_tags) >= _REMEMBERED:
            _tags.clear()
        tag = _tags[adapter.name, description] = bytes([len(text)]) + text
    return tag


def put_buffer(raw: Any, layout: list[bytes], data: list[bytes], follow: list[Any]) -> None:
    """Add the bytes of an out-of-band pickle buffer (`pickle.PickleBuffer.raw`) to a message; other arguments as for `put`."""
    put(BUFFER, np.frombuffer(raw, dtype=np.uint8), layout, data, follow)


def describe_moving(kind: int, array: Any, source: device, target: device, number: int, offset: int) -> bytes:
    """Return the layout text of an array that leaves a GPU or arrives on one.

    `source` and `target` are its devices; it lies at `offset` in the message's device transfer `number`.
    """
    name = text_of(array.dtype.newbyteorder("=")).encode()
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    places = _PLACES.pack(_code(source), _code(target), number, offset)
    return _ONE.pack(kind + MOVING, len(name), array.ndim) + name + shape + places


def _code(place: device) -> int:
    return -1 if place is CPU else place.index or 0


def _place(code: int) -> device:
    return CPU if code < 0 else device("cuda", code)


def parse(layout: bytes) -> list[tuple[int, Any, Any, int]]:
    """Return the entries (kind, dtype, shape, bytes) of a layout text; ValueError if it is malformed.

    AGAIN, a tensor that occurs again, has its index among the tensors instead of the bytes.
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
                moving = _place(source), _place(target), number, offset
            nbytes = dtype.itemsize * _product(shape)
            if kind & STRIDED:
                shape, at = _strided(layout, at, dtype.itemsize, nbytes), at + 1 + 16 * layout[at]
            _check_kind(kind)
            if kind > MOVING:
                shape = shape, *moving
            if kind & 31 >= GUEST:
                name, _, description = layout[at + 1 : at + 1 + layout[at]].partition(b"\0")
                shape, at = (shape, (adapter_named(name.decode("ascii")), description)), at + 1 + layout[at]
            entries.append((kind, dtype, shape, nbytes))
    except (struct.error, IndexError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"malformed message: bad array layout {layout[:64]!r}: {error}") from None
    return entries


def _strided(layout: bytes, at: int, size: int, nbytes: int) -> tuple[Any, Any]:
    """Return shape and strides of a tensor, at position `at` of a layout; ValueError if it would exceed its `nbytes` bytes."""
    ndim = layout[at]
    numbers = struct.unpack_from(f"<{2 * ndim}Q", layout, at + 1)
    shape, strides = numbers[:ndim], numbers[ndim:]
    last = sum((length - 1) * stride for length, stride in zip(shape, strides))
    if 0 in shape or any(stride % size for stride in strides) or last + size > nbytes:
        raise ValueError(f"malformed message: shape {shape} and strides {strides} do not fit into {nbytes} bytes")
    return shape, strides


def _checked_dtype(name: str) -> Any:
    """Return the dtype with this name, if it is of numbers or text; otherwise ValueError.

    Never an object dtype: bytes of a message must not be interpreted as addresses of objects.
    """
    dtype = of_text(name)
    if name == "bfloat16":
        return dtype
    if dtype.kind not in _KINDS or dtype.subdtype is not None:
        raise ValueError(f"malformed message: arrays of dtype {name!r} cannot be sent as bytes")
    return dtype


def _check_kind(kind: int) -> None:
    base = kind & ~(MOVING | STRIDED)
    if not GUEST <= base <= GUEST_GRAD + 1 and not (
        TENSOR <= base <= TENSOR_GRAD + 1 if kind & STRIDED else ARRAY <= base <= BUFFER + 1
    ):
        raise ValueError(f"malformed message: array kind {kind} is unknown")


def _product(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def take(
    entries: list[tuple[int, Any, Any, int]], buffer: Any, offset: int, followed: list[Any], plain: tuple[Any, ...]
) -> tuple[list[Any], list[Tensor]]:
    """Build the values that a layout describes; returns them, and the list of the tensors among them.

    Args:
        entries: the layout, from `parse`.
        buffer, offset: where the inline arrays begin.
        followed: the arrays that followed the frame.
        plain: the plain scalars of a FLAT payload.

    ValueError if the message is malformed.
    """
    values: list[Any] = []
    tensors: list[Tensor] = []
    nth_plain = nth_followed = 0
    for kind, dtype, shape, nbytes in entries:
        if kind == TENSOR or kind == TENSOR_GRAD:
            tensor = wrap(view_of(buffer, offset, shape, dtype, nbytes))
            if kind == TENSOR_GRAD:
                tensor._requires = True
            offset += (nbytes + 15) & -16  # inline arrays are padded to 16 bytes
            tensors.append(tensor)
            values.append(tensor)
            continue
        if kind == PLAIN:
            values.append(plain[nth_plain])
            nth_plain += 1
            continue
        if kind == AGAIN:
            if nbytes >= len(tensors):
                raise ValueError(f"malformed message: tensor {nbytes} is referred to before it is defined")
            again = tensors[nbytes]
            values.append(again.tensor if type(again) is GuestTensor else again)
            continue
        made_by = None
        if kind & 31 >= GUEST:
            shape, made_by = shape
        if kind > MOVING:
            values, tensors = _origins(values, tensors)
            _take_moving(kind - MOVING, dtype, shape, nbytes, _moved(entries, followed), values, tensors, made_by)
            continue
        strides = None
        if kind > STRIDED:
            kind -= STRIDED
            outer, strides = shape
            shape = (nbytes // dtype.itemsize,)
        if kind & 1:
            array = _fetch(followed, nth_followed, dtype, shape, nbytes)
            nth_followed += 1
        else:
            array = view_of(buffer, offset, shape, dtype, nbytes)
            offset += (nbytes + 15) & -16
        if strides is not None:
            array = _spread(array, outer, strides)
        if made_by is not None:
            array = _take_guest(array, kind, made_by, tensors)
        elif TENSOR <= kind < BUFFER:
            array = wrap(array)
            array._requires = kind >= TENSOR_GRAD
            tensors.append(array)
        values.append(array)
    return values, tensors


def _take_guest(array: Any, kind: int, made_by: tuple[TensorAdapter, bytes], tensors: list[Any]) -> Any:
    """Create a tensor of another framework and return it; its `GuestTensor` is added to `tensors`."""
    adapter, description = made_by
    requires = kind >= GUEST_GRAD
    made = adapter.make(array, description, requires)
    tensors.append(guest(adapter, made, array, description, requires))
    return made


def _spread(memory: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a view with this shape and these strides of a vector that has the memory of a tensor."""
    if type(memory) is not _ndarray or memory.dtype.kind == "V":  # bfloat16 has no buffers
        return array_module(memory).lib.stride_tricks.as_strided(memory, shape, strides)
    return _ndarray(shape, memory.dtype, memory, 0, strides)


def _fetch(followed: list[Any], nth: int, dtype: Any, shape: tuple[int, ...], nbytes: int) -> Any:
    if nth >= len(followed) or followed[nth].nbytes != nbytes:
        raise ValueError(
            f"malformed message: array {nth} of shape {shape} and dtype {dtype} arrived without its {nbytes} bytes"
        )
    return followed[nth].view(dtype).reshape(shape)


def _no_place(block: np.ndarray, target: device) -> Exception:
    error = getattr(block, "error", None)  # of a `FailedReceive`
    if error is not None:
        return RuntimeError(f"{block.nbytes} bytes could not be received on {target}: {error}")
    return RuntimeError(f"an array for {target} came to a worker that does not use it: see its options devices, device_maps")


class ReceivedValues(list[Any]):
    """Values, or tensors, of a message of which some left a GPU or arrived on one.

    `origins` has the devices that these have left, by index.
    """

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.origins: dict[int, device] = {}


def origins_of(values: list[Any]) -> dict[int, device] | None:
    """Return the sender's devices of values of a message, by index; None if no GPU is involved."""
    return values.origins if type(values) is ReceivedValues else None


def _origins(values: list[Any], tensors: list[Tensor]) -> tuple[ReceivedValues, ReceivedValues]:
    if type(values) is ReceivedValues and type(tensors) is ReceivedValues:
        return values, tensors
    return ReceivedValues(values), ReceivedValues(tensors)


def _moved(entries: list[tuple[int, Any, Any, int]], followed: list[Any]) -> list[Any]:
    """Return the device transfers among the arrays that followed a frame. They come after the host arrays (odd kinds)."""
    return followed[sum(1 for entry in entries if entry[0] < MOVING and entry[0] & 1) :]


def _take_moving(
    kind: int, dtype: Any, moving: Any, nbytes: int, transfers: list[Any], values: ReceivedValues, tensors: ReceivedValues,
    made_by: tuple[TensorAdapter, bytes] | None,
) -> None:  # fmt: skip
    shape, source, target, number, offset = moving
    if number >= len(transfers) or offset + nbytes > transfers[number].nbytes:
        raise ValueError(f"malformed message: an array of shape {shape} and dtype {dtype} arrived without its bytes")
    block = transfers[number]
    if isinstance(block, _ndarray) and target is not CPU:
        raise _no_place(block, target)
    with on_device(target):
        if kind & STRIDED:
            kind -= STRIDED
            array = _spread(block[offset : offset + nbytes].view(dtype), *shape)
        else:
            array = block[offset : offset + nbytes].view(dtype).reshape(shape) if nbytes else _empty(block, shape, dtype)
    values.origins[len(values)] = source
    if kind == ARRAY:
        values.append(array)
        return
    tensors.origins[len(tensors)] = source
    if made_by is not None:
        values.append(_take_guest(array, kind, made_by, tensors))
        return
    tensor = wrap(array)
    tensor._requires = kind >= TENSOR_GRAD
    tensors.append(tensor)
    values.append(tensor)


def _empty(block: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return type(block)(shape, dtype)


# -- pickles -----------------------------------------------------------------------------------------------------------
class Tables:
    """What one pickle has out of band: arrays, tensors and RRefs in the order of their indices, and their encoding.

    `to` is (agent, rank, "Request" or "Response"), which determines the device map; None for messages without device
    maps.
    """

    __slots__ = ("data", "departures", "follow", "layout", "moves_all", "rrefs", "seen", "sparse", "tensors", "to")

    def __init__(self, to: Any = None) -> None:
        self.to = to  # agent, rank, "Request" or "Response": determines the device map
        self.departures: DevicePacker | None = None
        self.moves_all = to is not None and to[0] is not None and to[0].moves_host_tensors
        self.layout: list[bytes] = []
        self.data: list[bytes] = []
        self.follow: list[Any] = []
        self.tensors: list[Tensor] = []
        self.sparse: list[Tensor] = []  # after the others: the receiver creates them while unpickling
        self.rrefs: list[Any] = []
        self.seen = 0

    def add(self, kind: int, array: Any) -> int:
        """Add an array of the host; returns its index."""
        put(kind, array, self.layout, self.data, self.follow)
        self.seen += 1
        return self.seen - 1

    def add_guest(self, tensor: GuestTensor) -> int:
        """Add a tensor of another framework; returns its index."""
        array, kind = tensor._array, GUEST_GRAD if tensor._requires else GUEST
        plain = sendable(array) and not self.moves_all
        index = self.add(kind, array) if plain or self.to is None else self.add_routed(kind, array)
        self.layout[-1] += _tag(tensor.adapter, tensor.description)
        return index

    def add_routed(self, kind: int, array: Any) -> int:
        """Add an array that goes to the device that the device map says; returns its index."""
        agent, dst, what = self.to
        source = device_of(array)
        return self.add_for(kind, array, source, agent.route(dst, what).target(source))

    def add_for(self, kind: int, array: Any, source: device, target: device) -> int:
        """Add an array on the device `source` that goes to the device `target`; returns its index."""
        if source is CPU and target is CPU:
            return self.add(kind, array)
        if self.departures is None:
            self.departures = DevicePacker()
        strided = b""
        if kind != ARRAY and not array.flags.c_contiguous:
            with on_device(source):
                array, strided = _memory_of(array)
        number, offset = self.departures.add(array, target)
        moving = kind + STRIDED if strided else kind
        self.layout.append(describe_moving(moving, array, source, target, number, offset) + strided)
        self.seen += 1
        return self.seen - 1

    def followers(self) -> list[Any]:
        """Return the arrays that follow the frame: large arrays of the host, then device transfers."""
        return self.follow if self.departures is None else self.follow + self.departures.seal()

    def add_buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """Take a buffer out of the pickle (returns False), unless it is not contiguous: the `buffer_callback` of the pickler."""
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        put_buffer(raw, self.layout, self.data, self.follow)
        self.seen += 1
        return False


class _Reduce:
    """The `reducer_override` of both picklers: puts arrays, tensors and RRefs into the tables."""

    tables: Tables

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is np.ndarray:
            if sendable(obj):
                return _slot, (self.tables.add(ARRAY, obj),)
            return NotImplemented
        if isinstance(obj, Tensor):
            return self._reduce_tensor(obj)
        hook = extensions.rref_hook
        if hook is not None and kind in hook.types:
            self.tables.rrefs.append(obj)
            return _rref, (len(self.tables.rrefs) - 1,)
        adapter = adapter_of(kind)
        if adapter is not None:
            return self._reduce_guest(adapter, obj)
        if kind.__module__ == "cupy":
            return _reduce_cupy(self.tables, obj)
        special = getattr(kind, "_reduce_in_rpc", None)  # objects that can be pickled only in calls
        return self._other(obj) if special is None else special(obj)

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        array = tensor._array
        tables = self.tables
        kind = TENSOR_GRAD if tensor._requires else TENSOR
        if sendable(array) and not tables.moves_all:
            index = tables.add(kind, array)
        elif sendable(array) or _on_gpu(array):
            index = tables.add_routed(kind, array)
        else:
            return _reduce_special(tables, tensor)
        tables.tensors.append(tensor)
        if type(tensor) is Tensor:
            return _slot, (index,)
        return _as_subclass, (type(tensor), index, tensor.__dict__ or None)

    def _reduce_guest(self, adapter: TensorAdapter, obj: Any) -> Any:
        tables, found = self.tables, _guest_for(adapter, obj)
        if found is None:
            reduced = adapter.reduce(obj)
            return self._other(obj) if reduced is NotImplemented else reduced
        array = found._array
        if getattr(array, "is_sparse_array", False):
            slots = tables.add_routed(ARRAY, array.indices), tables.add_routed(ARRAY, array.values)
            tables.sparse.append(found)  # type: ignore[arg-type]
            form = tuple(array.shape), bool(array.is_coalesced), found._requires
            return _sparse_guest, (type(array), *slots, *form, adapter.name, found.description)
        tables.tensors.append(found)  # type: ignore[arg-type]
        return _slot, (tables.add_guest(found),)

    def _other(self, obj: Any) -> Any:
        return NotImplemented


class _Plain(_Reduce, pickle.Pickler):
    """The standard pickler, with arrays, tensors and RRefs out of band."""


def _reduce_special(tables: Tables, tensor: Tensor) -> Any:
    """Reduce a sparse tensor to its two arrays; any other special tensor is pickled as usual."""
    array = tensor._array
    if getattr(array, "is_sparse_array", False):
        slots = tables.add_routed(ARRAY, array.indices), tables.add_routed(ARRAY, array.values)
        tables.sparse.append(tensor)
        return _sparse, (type(array), *slots, tuple(array.shape), bool(array.is_coalesced), tensor._requires)
    return NotImplemented


def _on_gpu(array: Any) -> bool:
    return type(array).__module__ == "cupy"


def _reduce_cupy(tables: Tables, obj: Any) -> Any:
    if type(obj).__name__ == "ndarray":
        return _slot, (tables.add_routed(ARRAY, obj),)
    return NotImplemented


_cloud_class: Any = None


def _cloud() -> Any:
    """Return the class of cloudpickle's pickler with tables; imported on first use."""
    global _cloud_class
    if _cloud_class is None:
        import cloudpickle

        class Cloud(_Reduce, cloudpickle.Pickler):
            def _other(self, obj: Any) -> Any:
                found = reduced_by_name(obj)
                return cloudpickle.Pickler.reducer_override(self, obj) if found is NotImplemented else found

        _cloud_class = Cloud
    return _cloud_class


def dumps(obj: Any, to: Any = None) -> tuple[bytes, Tables]:
    """Pickle `obj`, with cloudpickle if plain pickle fails; returns the pickle and its tables. `to` as in `Tables`.

    If cloudpickle fails as well, the error of plain pickle is raised.
    """
    try:
        return _dump(_Plain, obj, to)
    except Exception as plain_error:
        try:
            return _dump(_cloud(), obj, to)
        except Exception:
            raise plain_error from None


def _dump(cls: Any, obj: Any, to: Any) -> tuple[bytes, Tables]:
    file = io.BytesIO()
    tables = Tables(to)
    pickler = cls(file, protocol=5, buffer_callback=tables.add_buffer)
    pickler.tables = tables
    pickler.dump(obj)
    return file.getvalue(), tables


class _Loading(threading.local):
    """The tables of the pickle that this thread is decoding."""

    values: list[Any] | tuple[Any, ...] = ()
    rrefs: list[Any] | tuple[Any, ...] = ()
    tensors: list[Tensor] | None = None


_loading = _Loading()


def loads(data: Any, values: list[Any], buffers: list[Any], rrefs: list[Any], tensors: list[Tensor]) -> Any:
    """Unpickle `data` with the tables that came with it.

    `values` are the arrays and tensors, `buffers` the out-of-band buffers, `rrefs` the RRefs. Sparse tensors and
    instances of subclasses of Tensor, which are created meanwhile, are put into `tensors`.
    """
    loading = _loading
    outer = loading.values, loading.rrefs, loading.tensors  # unpickling may decode another message (user code may call RPC)
    loading.values, loading.rrefs, loading.tensors = values, rrefs, tensors
    try:
        return pickle.loads(data, buffers=buffers)
    finally:
        loading.values, loading.rrefs, loading.tensors = outer


def _slot(index: int) -> Any:
    return _loading.values[index]


def _rref(index: int) -> Any:
    return _loading.rrefs[index]


def _as_subclass(cls: type[Tensor], index: int, attributes: dict[str, Any] | None) -> Any:
    plain = _loading.values[index]
    made = wrap_as(cls, plain._array)
    made._requires = plain._requires
    if attributes:
        made.__dict__.update(attributes)
    tensors = _loading.tensors
    if tensors is not None:
        tensors[next(i for i, t in enumerate(tensors) if t is plain)] = made
    return made


def _sparse(cls: Any, indices: int, values: int, shape: tuple[int, ...], coalesced: bool, requires: bool) -> Any:
    table = _loading.values
    made = wrap(cls(table[indices], table[values], shape, coalesced))
    made._requires = requires
    tensors = _loading.tensors
    if tensors is not None:
        if type(table) is ReceivedValues and type(tensors) is ReceivedValues and values in table.origins:
            tensors.origins[len(tensors)] = table.origins[values]
        tensors.append(made)
    return made


def _sparse_guest(
    cls: Any, indices: int, values: int, shape: tuple[int, ...], coalesced: bool, requires: bool, name: str, description: bytes
) -> Any:
    table, tensors = _loading.values, _loading.tensors
    array, kind = cls(table[indices], table[values], shape, coalesced), GUEST_GRAD if requires else GUEST
    return _take_guest(array, kind, (adapter_named(name), description), [] if tensors is None else tensors)


class _Apart(pickle.Pickler):
    """A pickler that takes only tensors out of the pickle, for picklers of users."""

    table: list[Tensor]

    def reducer_override(self, obj: Any) -> Any:
        adapter = adapter_of(type(obj))
        found = None if adapter is None else _guest_for(adapter, obj)
        if isinstance(obj, Tensor) or found is not None and sendable(found._array):
            self.table.append(obj)
            return _slot, (len(self.table) - 1,)
        return NotImplemented if adapter is None else adapter.reduce(obj)


def tensors_apart(obj: Any) -> tuple[bytes, list[Tensor]]:
    """Return the pickle of `obj` without its tensors, and the list of its tensors."""
    file = io.BytesIO()
    pickler = _Apart(file, 5)
    pickler.table = []
    pickler.dump(obj)
    return file.getvalue(), pickler.table


class InternalPickler:
    """The default pickler, with the interface that `use_rpc_pickler` expects: objects <-> bytes and their tensors.

    >>> from mpigrad.distributed.rpc.internal import _internal_rpc_pickler
    >>> _internal_rpc_pickler.deserialize(*_internal_rpc_pickler.serialize([1, "a"]))
    [1, 'a']
    """

    def serialize(self, obj: Any) -> tuple[bytes, list[Tensor]]:
        """Return the pickle of `obj` without its tensors, and the list of its tensors."""
        return tensors_apart(obj)

    def deserialize(self, binary_data: bytes, tensor_table: list[Tensor]) -> Any:
        """Return the object for a pickle and tensors of `serialize`; AttributeError if a function of it is unknown here."""
        try:
            return loads(binary_data, list(tensor_table), [], [], [])
        except AttributeError as error:
            raise AttributeError(f"{error}. Default RPC pickler does not serialize function code.") from error


internal_pickler = InternalPickler()


# -- payloads ----------------------------------------------------------------------------------------------------------
_U32 = struct.Struct("<I")
_TRANSFER_SIZE = TRANSFER.size
_NO_LAYOUT = _U32.pack(0)
_flat: dict[bytes, Any] = {}  # meta of messages without plain scalars -> entries of their layout
_PLAIN_TYPES = frozenset({int, float, bool, str, bytes, complex, type(None)})
_PLAIN_MARK = bytes([PLAIN])
_AGAIN_MARKS = [bytes([AGAIN, place]) for place in range(8)]  # only the first tensors are checked for repetition


class Payload:
    """The encoded arguments or result of a call: a message without its header."""

    __slots__ = ("data", "follow", "meta", "mode", "tensors")

    mode: int  # the encoding, see `_protocol/message.py`
    data: bytes  # bytes of the inline arrays
    meta: bytes
    follow: list[Any]  # arrays that follow the frame
    tensors: list[Tensor]  # all tensors in the payload, for the interceptor


def _payload(mode: int, data: bytes, meta: bytes, follow: list[Any], tensors: list[Tensor]) -> Payload:
    made = Payload.__new__(Payload)  # twice as fast as calling the class, when compiled
    made.mode, made.data, made.meta, made.follow, made.tensors = mode, data, meta, follow, tensors
    return made


custom_pickler: Any = None  # see `use_pickler`
host_maps = 0  # number of agents in the process whose device maps move CPU tensors to GPUs
_never_flat = False  # whether either of these is set: then `encode_flat` does not apply
NOTHING = _payload(EMPTY, b"", b"", [], [])


class ArrayForDevice(NamedTuple):
    """An array in a raw message that has to arrive on a certain device, whatever the device map says."""

    array: Any
    target: device


def use_pickler(pickler: Any) -> Any:
    """Install a pickler for all payloads of this process (None: the default); returns the previous one."""
    global custom_pickler, _never_flat
    before, custom_pickler = custom_pickler, pickler
    _never_flat = pickler is not None or host_maps > 0
    return before


def count_host_maps(change: int) -> None:
    """Count the agents of this process whose device maps move CPU tensors to GPUs: +1 at their start, -1 at their end."""
    global host_maps, _never_flat
    host_maps += change
    _never_flat = custom_pickler is not None or host_maps > 0


def encode_flat(items: tuple[Any, ...]) -> Payload | None:
    """Encode a tuple of arrays, tensors and plain scalars without pickle; None if it contains anything else.

    A tensor that occurs twice must arrive as one object: it is encoded as AGAIN if it is among the first ones; otherwise
    the result is None, and pickle is used.
    """
    if _never_flat or type(items) is not tuple:
        return None
    text = b""
    data: list[bytes] = []
    follow: list[Any] = []
    tensors: list[Tensor] = []
    plain: list[Any] = []
    layout: list[bytes] = []
    for item in items:
        kind = type(item)
        tag = b""
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
        elif kind is _ndarray:
            array, code = item, ARRAY
        else:
            adapter = adapter_of(kind)
            if adapter is None:
                return None
            if tensors:
                place = _guest_place(item, tensors)
                if place >= len(_AGAIN_MARKS):
                    return None
                if place >= 0:
                    text += _AGAIN_MARKS[place]
                    continue
            found = _guest_for(adapter, item)
            if found is None:
                return None
            array, code, tag = found._array, GUEST_GRAD if found._requires else GUEST, _tag(adapter, found.description)
            tensors.append(found)  # type: ignore[arg-type]
        if type(array) is not _ndarray:
            return None
        entry = texts.get(layout_key(code, array)) or known(code, array)
        if entry is None:
            return None
        padding = entry[1]
        if padding is not None:
            text += entry[0] + tag
            data.append(padded_bytes(array, padding))
        else:
            put(code, array, layout, data, follow)
            text += layout.pop() + tag
    if len(tensors) > len(_AGAIN_MARKS) and len(set(map(id, tensors))) != len(tensors):
        return None
    meta = length_prefixed(text, pickle.dumps(tuple(plain), 5) if plain else b"")
    return _payload(FLAT, b"".join(data), meta, follow, tensors)


def _place_of(tensor: Tensor, tensors: list[Tensor]) -> int:
    """Return the index of a tensor among the first tensors of a message; -1 if it is not one of them."""
    for place in range(min(len(tensors), len(_AGAIN_MARKS))):
        if tensors[place] is tensor:
            return place
    return -1


def _guest_place(item: Any, tensors: list[Any]) -> int:
    """Return the index of another framework's tensor among the tensors of a message; -1 if it is not one of them."""
    for place in range(len(tensors)):
        each = tensors[place]
        if type(each) is GuestTensor and each.tensor is item:
            return place
    return -1


def encode_any(agent: Agent, dst: int, obj: Any, what: str = "Request") -> Payload:
    """Encode an object for the rank `dst`, with pickle or cloudpickle or the pickler of `use_pickler`.

    `what` is "Request" or "Response", which selects the device map. Makes a fork of each RRef in it.
    """
    if custom_pickler is not None:
        return _encode_custom(obj, (agent, dst, what))
    before = suspend()  # pickling may run user code (`__reduce__` ...)
    try:
        text, tables = dumps(obj, (agent, dst, what))
    finally:
        resume(before)
    hook = extensions.rref_hook  # forks are made after pickling has succeeded
    rrefs = hook.pack(agent, dst, tables.rrefs) if hook is not None and tables.rrefs else b""
    layout = b"".join(tables.layout)
    meta = b"".join((_U32.pack(len(layout)), layout, _U32.pack(len(rrefs)), rrefs, text))
    return _payload(PICKLE, b"".join(tables.data), meta, tables.followers(), tables.tensors + tables.sparse)


def take_back(agent: Agent, dst: int, payload: Payload) -> None:
    """Undo the forks of RRefs in a payload that could not be sent to `dst`."""
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
    raw = encode_raw(text, list(tensors), to)
    return _payload(CUSTOM, raw.data, raw.meta, raw.follow, raw.tensors)


def encode_raw(body: bytes, arrays: list[Any], to: Any = None) -> Payload:
    """Encode bytes and a list of arrays or tensors without pickle; `to` as in `Tables`."""
    if not arrays:
        return _payload(RAW, b"", _NO_LAYOUT + body, [], [])
    text = b""
    data = []
    for array in arrays:  # fast path: only small arrays with cached layouts
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
            tables.tensors.append(array)
        elif type(array) is ArrayForDevice:
            tables.add_for(ARRAY, array.array, device_of(array.array), array.target)
        elif type(array) is _ndarray or (adapter := adapter_of(type(array))) is None:
            tables.add(ARRAY, array)
        elif (found := _guest_for(adapter, array)) is not None:
            tables.add_guest(found)
            tables.tensors.append(found)  # type: ignore[arg-type]
        else:
            raise TypeError(f"a pickler returned a {type(array).__name__} as a tensor, which cannot be sent as one array")
    layout = b"".join(tables.layout)
    meta = b"".join((_U32.pack(len(layout)), layout, body))
    return _payload(RAW, b"".join(tables.data), meta, tables.followers(), tables.tensors)


def decode_frame(agent: Agent, frame: Any, header: Header) -> tuple[Any, list[Tensor], bytes]:
    """Decode a received frame; returns its payload, the tensors in it, and the name of the function to call (or empty).

    The payload is a list of items for FLAT, the object for PICKLE, (body, arrays) for RAW. The frame drops its references
    to the arrays that followed it, so that the value may have the only ones (gradients are then reused in place).
    """
    buffer, offset, meta, name, followed = parts(frame, header)
    value, tensors = _decode(agent, header.src, header.mode, buffer, offset, meta, followed)
    return value, tensors, name


def parts(frame: Any, header: Header) -> tuple[Any, int, bytes, bytes, Any]:
    """Return the parts of a frame: buffer and offset of the array data, meta, function name, and the arrays that followed.

    ValueError if the lengths in the header are inconsistent. If receiving the arrays failed, raises that error.
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
    rrefs = hook.unpack(agent, src, data) if hook is not None and data else []  # even if unpickling fails: they must be counted
    buffers = [value for entry, value in zip(entries, values) if BUFFER <= entry[0] <= BUFFER + 1]
    before = suspend()  # unpickling may run user code (`__setstate__` ...)
    try:
        return loads(memoryview(meta)[start:], values, buffers, rrefs, tensors), tensors
    finally:
        resume(before)
