"""Tensors of PyTorch and of mpigrad in one graph: conversions through which `backward` goes.

So a model may consist of torch's modules, mpigrad's operators and stages of JAX (`mpigrad.interop.jax`), on one worker or
on several. Importing this module does not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import Tensor


def from_torch(tensor: Any) -> Tensor:
    """A tensor of mpigrad that shares the memory of a torch tensor, and through which gradients reach the torch tensor.

    This works for local backward passes of both libraries (`loss.backward()`, `autograd.grad`) and in a distributed
    autograd context, also with `create_graph=True`. mpigrad must not change the memory in place before the backward pass, as
    torch would not notice; torch may, unless mpigrad's operations need the old values (then the pass raises an error).

    >>> import torch  # doctest: +SKIP
    >>> from mpigrad.interop.torch import from_torch, to_torch  # doctest: +SKIP
    >>> x = torch.ones(2, requires_grad=True)  # doctest: +SKIP
    >>> (from_torch(x * 2) ** 2).sum().backward()  # doctest: +SKIP
    >>> x.grad  # doctest: +SKIP
    tensor([8., 8.])
    """
    from . import _torch_graphs

    return _torch_graphs.from_torch(tensor)


def to_torch(tensor: Tensor) -> Any:
    """A torch tensor that shares the memory of a tensor of mpigrad, and through which gradients reach that tensor.

    It is the inverse of `from_torch`; what is said there holds here, too.

    >>> import mpigrad, torch  # doctest: +SKIP
    >>> from mpigrad.interop.torch import to_torch  # doctest: +SKIP
    >>> w = mpigrad.ones(2, requires_grad=True)  # doctest: +SKIP
    >>> torch.sigmoid(to_torch(w * 2)).sum().backward()  # doctest: +SKIP
    >>> w.grad  # doctest: +SKIP
    tensor([0.2100, 0.2100])
    """
    from . import _torch_graphs

    return _torch_graphs.to_torch(tensor)


__all__ = ["from_torch", "to_torch"]
