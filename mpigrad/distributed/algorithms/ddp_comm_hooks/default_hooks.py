"""Communication hooks that average gradients in their own type, or in float16 or bfloat16 to send half as many bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._array.dtype import bfloat16, float16
from mpigrad._tensor import Tensor
from mpigrad.futures import Future

from ..._process_group.all_reduce import all_reduce
from ..._process_group.grad_bucket import GradBucket
from ..._process_group.groups import world

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip

Hook = Callable[[Any, GradBucket], Future]


def _averaged(group: Any, tensor: Tensor) -> Future:
    """Return a Future of the average of a tensor over the ranks of `group`; the average is written into the tensor."""
    group = world() if group is None else group
    tensor._array[...] = tensor._array / group.size()  # before the sum, which could overflow in half precision
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda fut: fut.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average a bucket over the ranks of `process_group` (None: all ranks), as `DistributedDataParallel` does without a hook.

    Returns a `Future` of the flat tensor.
    """
    return _averaged(process_group, bucket.buffer())


def _compressed(kind: Any, process_group: Any, bucket: GradBucket) -> Future:
    whole = bucket.buffer()

    def restore(fut: Future) -> Tensor:
        whole._array[...] = fut.value()._array
        return whole

    return _averaged(process_group, whole.to(kind)).then(restore)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the bucket in half precision (float16), which halves the size of messages.

    `process_group` is as for `allreduce_hook`. Returns a `Future` of the flat tensor, in its own type.
    """
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the bucket in bfloat16, which halves the size of messages and keeps the range of float32.

    `process_group` is as for `allreduce_hook`. Returns a `Future` of the flat tensor, in its own type.
    """
    return _compressed(bfloat16, process_group, bucket)


def _wrapper(kind: Any, hook: Hook) -> Hook:
    def wrapped(state: Any, bucket: GradBucket) -> Future:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(kind))

        def restore(fut: Future) -> Tensor:
            made = fut.value()
            whole._array[...] = (made[0] if isinstance(made, (list, tuple)) else made)._array
            return whole

        return hook(state, bucket).then(restore)

    return wrapped


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that converts the bucket to float16, calls `hook`, and converts the averages back."""
    return _wrapper(float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that converts the bucket to bfloat16, calls `hook`, and converts the averages back."""
    return _wrapper(bfloat16, hook)


