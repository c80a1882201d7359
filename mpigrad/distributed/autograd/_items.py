"""Gradients on the wire: pairs of an autograd message id and the gradients for the send function of that message.

Nothing is pickled: a few fixed fields, then bare arrays. With `create_graph=True` the gradients themselves carry a
graph; then the message is recorded like any other that carries tensors, and says which of its arrays need gradients.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._graph.engine import as_array
from ..._graph.namespace import RAW
from ..._tensor import Tensor, wrap

if TYPE_CHECKING:
    from ._context import DistAutogradContext
    from ._pass import Pass

Item = tuple[int, list[Any]]  # (autograd message id, gradients)

_ITEM = struct.Struct("<qI")
_RECORDED = struct.Struct("<q")


def encode(items: Sequence[Item], context: DistAutogradContext, one: Pass) -> tuple[bytes, list[Any]]:
    """Bytes and arrays for some items of a pass."""
    if len(items) == 1 and one.F is RAW:
        message_id, grads = items[0]
        return _ITEM.pack(message_id, len(grads)), [as_array(grad) for grad in grads]
    body = b"".join(_ITEM.pack(message_id, len(grads)) for message_id, grads in items)
    values = [grad for _, grads in items for grad in grads]
    if one.F is RAW:
        return body, [as_array(value) for value in values]
    return body + _record(values, context), [value._array for value in values]


def _record(tensors: list[Tensor], context: DistAutogradContext) -> bytes:
    """Record that gradients with a graph of their own leave here."""
    from . import _worker
    from ._interceptor import record_send

    message_id = _worker.worker().container.new_message_id()
    record_send(context, message_id, tensors)
    return _RECORDED.pack(message_id) + bytes(tensor._requires for tensor in tensors)


def decode(body: bytes, arrays: list[Any], src: int, context: DistAutogradContext, one: Pass) -> list[Item]:
    """The items again; raises if the message does not add up."""
    if one.F is RAW:
        end = len(body)
        values: list[Any] = arrays
    else:
        end = len(body) - _RECORDED.size - len(arrays)
        values = _received(body[end:], arrays, src, context)
    items, taken = [], 0
    for offset in range(0, end, _ITEM.size):
        message_id, count = _ITEM.unpack_from(body, offset)
        items.append((message_id, values[taken : taken + count]))
        taken += count
    if taken != len(values):
        raise RuntimeError(f"a gradient message from rank {src} names {taken} gradients and carries {len(values)}")
    return items


def _received(record: bytes, arrays: list[Any], src: int, context: DistAutogradContext) -> list[Tensor]:
    from ._interceptor import record_recv

    (message_id,) = _RECORDED.unpack_from(record)
    tensors = [wrap(array) for array in arrays]
    for tensor, needs in zip(tensors, record[_RECORDED.size :]):
        tensor._requires = bool(needs)
    record_recv(context, src, message_id, tensors)
    return tensors
