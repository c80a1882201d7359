"""`pad`: adds elements around a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops.shape.padding import constant_pad, repeating, sources

from ..._tensor import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements at both ends of the last dimensions.

    - `pad`: numbers of elements before and after, first for the last dimension, then for the one before it, and so
      on. Negative numbers remove elements.
    - `mode`: "constant" (default: `value`, or 0), "reflect" (mirror, without the edge), "replicate" (repeat the edge)
      or "circular" (wrap around). The last three accept pads of the last one, two or three dimensions, of tensors
      with one or two dimensions more.

    >>> import mpigrad
    >>> mpigrad.nn.functional.pad(mpigrad.ones(2), (1, 2))
    tensor([0., 1., 1., 0., 0.])
    >>> mpigrad.nn.functional.pad(mpigrad.tensor([[1.0, 2.0, 3.0]]), (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
    """
    need_tensors("pad", input=input)
    sides = [int(each) for each in pad]
    if len(sides) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    x = input._array
    if len(sides) > 2 * x.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(sides)} and input of dimension {x.ndim}"
        )
    pairs = tuple((sides[i], sides[i + 1]) for i in range(len(sides) - 2, -1, -2))
    if mode == "constant":
        full = ((0, 0),) * (x.ndim - len(pairs)) + pairs
        _check_cut(x.shape, full, sides)
        return constant_pad(input, sides=full, value=0 if value is None else value)
    if value not in (None, 0, 0.0):
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return _repeat(input, pairs, mode)


def _check_cut(shape: tuple[int, ...], pairs: tuple[tuple[int, int], ...], sides: list[int]) -> None:
    for n, (before, after) in zip(shape, pairs):
        if n + before + after < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative output size, "
                "which is invalid. Check the padding argument."
            )


def _repeat(input: Tensor, pairs: tuple[tuple[int, int], ...], mode: str) -> Tensor:
    if (mode, 1) not in repeating:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    n, shape = len(pairs), input._array.shape
    if not (1 <= n <= 3 and len(shape) in (n + 1, n + 2)):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, "
            f"got an input of {len(shape)} dimensions and padding of {n}"
        )
    for place, (length, (before, after)) in enumerate(zip(shape[-n:], pairs)):
        if mode == "reflect" and max(before, after) >= length:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {len(shape) - n + place} of input {list(shape)}"
            )
        if mode == "circular" and max(before, after) > length:
            raise RuntimeError("Padding value causes wrapping around more than once.")
    maps = tuple(sources(length, *pair, mode) for length, pair in zip(shape[-n:], pairs))
    return repeating[mode, n](input, maps=maps)


__all__ = ["pad"]
