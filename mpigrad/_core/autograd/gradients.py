"""Gradients on the wire: for each message, its autograd message id and the gradients for its send function.

Nothing is pickled: `kind | (message id, count) ... | extras`, then bare arrays; the most frequent message, plain arrays for
one send function, has only the message id before them. A sparse gradient travels as two arrays, its indices and its
values. With `create_graph=True` the gradients themselves carry a graph; then the message is recorded like any other that
carries tensors, and says which of its gradients need gradients.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from mpigrad._array.device import CPU, device
from mpigrad._array.sparse.array import SparseArray
from mpigrad._core.engine import as_array
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor

from ..rpc.arrays import ReceivedValues, origins_of
from ..rpc.payload import ArrayForDevice
from .container import this_worker
from .interceptor import record_recv, record_send
from .nodes import MessageGradients

if TYPE_CHECKING:
    from .backward_pass import Pass
    from .context import DistAutogradContext

_DENSE, _MIXED = b"\0", b"\1"  # kinds: plain arrays only; or the layout of every gradient is among the extras
_SINGLE = struct.Struct("<q")  # shorter than any other body
_MESSAGE = struct.Struct("<qI")  # autograd message id, number of gradients
_COUNT = struct.Struct("<I")
_RECORDED = struct.Struct("<q")
_LAYOUT = struct.Struct("<?B")  # sparse and coalesced, number of dimensions (0: a plain array)


def encode(
    batch: Sequence[MessageGradients], context: DistAutogradContext, pass_: Pass
) -> tuple[bytes, list[Any]]:
    """Bytes and arrays of a message that carries gradients of a pass."""
    if len(batch) == 1 and pass_.F is RAW and context.origins is None:
        single = batch[0]
        for grad in single.grads:
            if type(grad) is not ndarray:
                break
        else:
            return _SINGLE.pack(single.message_id), single.grads
    return _encode(batch, context, pass_)


def _encode(
    batch: Sequence[MessageGradients], context: DistAutogradContext, pass_: Pass
) -> tuple[bytes, list[Any]]:
    """`encode` in the general form."""
    head = _COUNT.pack(len(batch)) + b"".join(_MESSAGE.pack(each.message_id, len(each.grads)) for each in batch)
    flat = [grad for each in batch for grad in each.grads]
    values = [as_array(grad) for grad in flat] if pass_.F is RAW else [grad._array for grad in flat]
    if pass_.F is not RAW:
        head += _record(flat, context)
    if any(type(value) is SparseArray for value in values):
        head, arrays = _MIXED + head + b"".join(map(_layout, values)), _flattened(values)
    else:
        head, arrays = _DENSE + head, values
    return head, arrays if context.origins is None else _directed(batch, values, context.origins)


def _directed(batch: Sequence[MessageGradients], values: list[Any], origins: dict[int, list[device]]) -> list[Any]:
    """The arrays, each for the device that its tensor has left."""
    targets = [place for each in batch for place in origins.get(each.message_id) or [CPU] * len(each.grads)]
    return [ArrayForDevice(array, target) for value, target in zip(values, targets) for array in _flattened([value])]


def _layout(value: Any) -> bytes:
    if type(value) is not SparseArray:
        return _LAYOUT.pack(False, 0)
    return _LAYOUT.pack(value.is_coalesced, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)


def _flattened(values: list[Any]) -> list[Any]:
    made: list[Any] = []
    for value in values:
        made.extend((value.indices, value.values) if type(value) is SparseArray else (value,))
    return made


def _record(tensors: list[Tensor], context: DistAutogradContext) -> bytes:
    """Record that gradients with a graph of their own leave here."""
    message_id = this_worker().container.new_message_id()
    record_send(context, message_id, tensors)
    return _RECORDED.pack(message_id) + bytes(tensor._requires for tensor in tensors)


def decode(
    body: bytes, arrays: list[Any], src: int, context: DistAutogradContext, pass_: Pass
) -> list[MessageGradients]:
    """The gradients that a message of rank `src` carries; RuntimeError if it does not carry as many as it names."""
    if len(body) == _SINGLE.size:
        return [MessageGradients(_SINGLE.unpack(body)[0], arrays)]
    return _decode(body, arrays, src, context, pass_)


def _decode(
    body: bytes, arrays: list[Any], src: int, context: DistAutogradContext, pass_: Pass
) -> list[MessageGradients]:
    """`decode` in the general form."""
    (count,) = _COUNT.unpack_from(body, 1)
    place = 1 + _COUNT.size
    heads = [_MESSAGE.unpack_from(body, place + i * _MESSAGE.size) for i in range(count)]
    place += count * _MESSAGE.size
    total = sum(many for _, many in heads)
    record = b""
    if pass_.F is not RAW:
        end = place + _RECORDED.size + total
        record, place = body[place:end], end
    values = arrays if body[:1] == _DENSE else _unflattened(body, place, arrays, total)
    if len(values) != total:
        raise RuntimeError(f"a gradient message from rank {src} names {total} gradients and carries {len(values)}")
    if pass_.F is not RAW:
        values = _received(record, values, src, context)
    batch, taken = [], 0
    for message_id, many in heads:
        batch.append(MessageGradients(message_id, values[taken : taken + many]))
        taken += many
    arrays.clear()  # the gradients have no other holder then, and the context may keep them
    return batch


def _unflattened(body: bytes, place: int, arrays: list[Any], total: int) -> list[Any]:
    made: list[Any] = [] if origins_of(arrays) is None else ReceivedValues([])
    rest = iter(arrays)
    for _ in range(total):
        if type(made) is ReceivedValues:
            made.origins[len(made)] = arrays.origins.get(len(arrays) - rest.__length_hint__(), CPU)  # type: ignore[attr-defined]
        coalesced, ndim = _LAYOUT.unpack_from(body, place)
        place += _LAYOUT.size
        if not ndim:
            made.append(next(rest))
            continue
        shape = struct.unpack_from(f"<{ndim}q", body, place)
        place += 8 * ndim
        made.append(SparseArray(next(rest), next(rest), shape, coalesced))
    return made


def _received(record: bytes, arrays: list[Any], src: int, context: DistAutogradContext) -> list[Tensor]:
    (message_id,) = _RECORDED.unpack_from(record)
    tensors = [wrap(array) for array in arrays]
    if type(arrays) is ReceivedValues:
        tensors = ReceivedValues(tensors)
        tensors.origins = arrays.origins
    for tensor, needs in zip(tensors, record[_RECORDED.size :]):
        tensor._requires = bool(needs)
    record_recv(context, src, message_id, tensors)
    return tensors
