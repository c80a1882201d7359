"""The frequencies of transforms, and moving frequency zero to the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._array.dtype import dtype as Dtype
from .._array.dtype import get_default_dtype
from .._ops._define.arguments import need_tensors
from .._ops._define.dims import wrap_dims
from .._ops._define.out import deliver
from .._ops.create.create import tensor
from .._ops.index.rearrange import roll
from .._ops.linalg.fourier import frequencies
from .._tensor import Tensor

Dims = int | Sequence[int] | None


def _made(n: int, d: float, half: bool, out: Tensor | None, kind: Any, device: Any, requires_grad: bool) -> Tensor:
    if n <= 0:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    kind = get_default_dtype() if kind is None else kind
    return deliver(tensor(frequencies(n, d, half), dtype=kind, device=device, requires_grad=requires_grad), out)


def fftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
            device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the results of `fft` for `n` samples at distances `d`, in cycles per unit of `d`: a vector
    of length n.

    Non-negative frequencies come first, then the negative ones. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _made(n, d, False, out, dtype, device, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the results of `rfft` for `n` samples at distances `d`: a vector of length n // 2 + 1, from
    0 up.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _made(n, d, True, out, dtype, device, requires_grad)


def _rolled(name: str, input: Tensor, dim: Dims, back: bool) -> Tensor:
    need_tensors(f"fft_{name}", input=input)
    dims = wrap_dims(dim, input.ndim)
    dims = tuple(range(input.ndim)) if dims is None else dims
    sizes = [input.shape[each] for each in dims]
    return roll(input, [(size + 1) // 2 if back else size // 2 for size in sizes], dims)


def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Rotate the dimensions `dim` (default: all) of a result of `fft` so that frequency zero is in the middle.

    >>> import mpigrad
    >>> mpigrad.fft.fftshift(mpigrad.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled("fftshift", input, dim, back=False)


def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of `fftshift`: rotate the dimensions `dim` (default: all) so that frequency zero comes first.

    >>> import mpigrad
    >>> mpigrad.fft.ifftshift(mpigrad.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _rolled("ifftshift", input, dim, back=True)
