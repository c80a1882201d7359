"""New tensors of random numbers: rand, randn, randint, randperm, normal, bernoulli, multinomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, on_device, resolve
from mpigrad._array.device import device as Device
from mpigrad._array.dtype import as_dtype, dtype, iinfo, int64
from mpigrad._core.tensor import wrap
from mpigrad._generator import Generator, check_kind, default_for, generator_for
from mpigrad._tensor import Tensor, method

from .._define.arguments import invalid_combination, need_tensors, title
from .._define.dims import size_from
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.out import deliver
from .create import Place, new
from .data import place_and_type

Source = Generator | None


def drawn(source: Generator, how: str, shape: tuple[int, ...], kind: np.dtype) -> Any:
    """An array of random numbers of this shape and type; `how` is a method of Generator, such as "uniform"."""
    count = 1
    for length in shape:
        count *= length
    if kind.kind == "V":
        wide = drawn(source, how, shape, np.dtype("f4"))
        if how == "uniform":  # truncated to 8 bits, not rounded, so that 1 is excluded
            wide = (wide * np.float32(256)).astype("i4") / np.float32(256)
        return wide.astype(kind)
    if kind.kind == "c":
        flat = getattr(source, how)(2 * count, np.dtype("f4" if kind.itemsize == 8 else "f8"))
        made = flat.view(kind) if how == "uniform" else flat.view(kind) * kind.type(0.5**0.5)
        return made.reshape(shape)
    return getattr(source, how)(count, kind).reshape(shape)


def _source(given: Source, place: Device) -> Generator:
    """The generator to use: `given`, which must have the device type of `place`, or the default one of `place`."""
    if given is None:
        return default_for(place)
    found = generator_for(given, None)
    check_kind(found, place.type)
    return found


def _random(name: str, how: str, size: tuple[Any, ...], generator: Source, out: Any, kind: Any, place: Any, grad: bool,
            names: dict[str, Any]) -> Tensor:  # fmt: skip
    if "size" in names:
        size = (tuple(names.pop("size")),)
    pin_memory = names.pop("pin_memory")
    if names:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(names))}'")
    shape = size_from(name, size)
    where, found = place_and_type(place, out.dtype if kind is None and out is not None else kind)
    if found.category < 2:
        kernel = "check_uniform_bounds" if how == "uniform" else "normal_kernel_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(np.empty(0, found.numpy))}'")
    source = _source(generator, where)
    with on_device(source.device):
        return deliver(new(drawn(source, how, shape, found.numpy), grad, pin_memory), out)


def rand(
    *size: Any, generator: Source = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False, pin_memory: bool = False, **names: Any,
) -> Tensor:  # fmt: skip
    """A tensor of random numbers, uniformly distributed in [0, 1), of the shape `size`: several ints, or one sequence
    of them.

    `generator`: the source of random numbers, by default that of the device. `dtype` (by default the default float
    type), `device` and `requires_grad` are those of the new tensor; `out` is a tensor to fill instead. `pin_memory`:
    in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.rand(2, 3).shape
    mpigrad.Size([2, 3])
    """
    names["pin_memory"] = pin_memory
    return _random("rand", "uniform", size, generator, out, dtype, device, requires_grad, names)


def randn(
    *size: Any, generator: Source = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False, pin_memory: bool = False, **names: Any,
) -> Tensor:  # fmt: skip
    """A tensor of random numbers of the standard normal distribution, of the shape `size`: several ints, or one
    sequence of them.

    `generator`: the source of random numbers, by default that of the device. `dtype` (by default the default float
    type), `device` and `requires_grad` are those of the new tensor; `out` is a tensor to fill instead. `pin_memory`:
    in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.randn(2, 3).shape
    mpigrad.Size([2, 3])
    """
    names["pin_memory"] = pin_memory
    return _random("randn", "normal", size, generator, out, dtype, device, requires_grad, names)


def randint(
    low: Any, high: Any = None, size: Any = None, *, generator: Source = None, out: Tensor | None = None,
    dtype: dtype | None = None, layout: Any = None, device: Place = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of random integers, uniformly distributed in [low, high): `randint(high, size)` or `randint(low, high,
    size)`.

    `dtype` is int64 by default; `size` is a sequence of ints. `generator`: the source of random numbers, by default
    that of the device. `device`, `requires_grad`, `out`: as for `rand`.

    >>> import mpigrad
    >>> mpigrad.randint(3, 4, (2,))
    tensor([3, 3])
    """
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None:
        given = (high,) if low == 0 else (low, high)
        raise invalid_combination("randint", given, "int high, tuple of ints size", "int low, int high, tuple of ints size")
    place, kind = place_and_type(device, int64 if dtype is None else dtype)
    check_bounds(low, high)
    _check_fit(low, high, kind)
    shape = size_from("randint", (tuple(size),))
    source = _source(generator, place)
    return deliver(new(integers(source, shape, low, high, kind.numpy), requires_grad), out)


def integers(source: Generator, shape: tuple[int, ...], low: int, high: int, kind: np.dtype) -> Any:
    """An array of random integers in [low, high), of this shape and element type."""
    count = 1
    for length in shape:
        count *= length
    with on_device(source.device):
        return source.integers(count, int(low), int(high)).reshape(shape).astype(kind)


def check_bounds(low: Any, high: Any) -> None:
    """Raise PyTorch's error if the range [low, high) is empty."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")


_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int"}


def _check_fit(low: Any, high: Any, kind: dtype) -> None:
    """Raise PyTorch's error if an integer type does not contain all of [low, high); other types are not checked."""
    if kind.category == 1:
        for what, value in (("from", low), ("to - 1", high - 1)):
            if not iinfo(kind).min <= value <= iinfo(kind).max:
                raise RuntimeError(f"{what} is out of bounds for {_C_NAMES.get(kind.name, kind.name)}")


def randperm(
    n: int, *, generator: Source = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers from 0 to n - 1 in random order: a vector, by default of type int64.

    `generator`: the source of random numbers, by default that of the device. `device`, `requires_grad`, `out`: as for
    `rand`.

    >>> import mpigrad
    >>> sorted(mpigrad.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    place, kind = place_and_type(device, int64 if dtype is None else dtype)
    source = _source(generator, place)
    with on_device(source.device):
        keys = source.integers(n, 0, 2**64)
        return deliver(new(array_module(keys).argsort(keys).astype(kind.numpy), requires_grad, pin_memory), out)


def _like(input: Tensor, kind: Any, place: Any) -> tuple[Any, dict[str, Any]]:
    need_tensors("input", input=input)
    found = input.dtype if kind is None else as_dtype(kind)
    return tuple(input._array.shape), {"dtype": found, "device": input.device if place is None else resolve(place)}


def rand_like(input: Tensor, *, generator: Source = None, dtype: dtype | None = None, layout: Any = None,
              device: Place = None, requires_grad: bool = False, memory_format: Any = None,
              pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Random numbers, uniformly distributed in [0, 1), with the shape of `input`. `dtype` and `device` are by default
    those of `input`; `requires_grad` (default: False) is that of the new tensor. `generator`: the source of random
    numbers, by default that of the device.
    """
    shape, kw = _like(input, dtype, device)
    return rand(shape, generator=generator, requires_grad=requires_grad, **kw)


def randn_like(input: Tensor, *, generator: Source = None, dtype: dtype | None = None, layout: Any = None,
               device: Place = None, requires_grad: bool = False, memory_format: Any = None,
              pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Random numbers of the standard normal distribution, with the shape of `input`. `dtype` and `device` are by
    default those of `input`; `requires_grad` (default: False) is that of the new tensor. `generator`: the source of
    random numbers, by default that of the device.
    """
    shape, kw = _like(input, dtype, device)
    return randn(shape, generator=generator, requires_grad=requires_grad, **kw)


def randint_like(input: Tensor, low: Any, high: Any = None, *, generator: Source = None, dtype: dtype | None = None,
                 layout: Any = None, device: Place = None, requires_grad: bool = False,
                 memory_format: Any = None,
              pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Random integers from [low, high), with the shape of `input`: `randint_like(x, high)` or `randint_like(x, low,
    high)`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new
    tensor. `generator`: the source of random numbers, by default that of the device.
    """
    shape, kw = _like(input, dtype, device)
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, shape, generator=generator, requires_grad=requires_grad, **kw)


@guarded
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Source = None, out: Tensor | None = None,
           dtype: dtype | None = None, layout: Any = None, device: Place = None, pin_memory: bool = False,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Random numbers of normal distributions with the given means and standard deviations.

    `mean` and `std` are tensors with an element for each result, or numbers; if both are numbers, `size` is the shape of
    the result. `generator`: the source of random numbers, by default that of the device. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.normal(mpigrad.zeros(3), 1.0).shape
    mpigrad.Size([3])
    """
    lowest = std._array.min() if isinstance(std, Tensor) and std._array.size else std
    if not isinstance(lowest, Tensor) and lowest < 0:
        raise RuntimeError(
            "normal expects all elements of std >= 0.0"
            if isinstance(std, Tensor)
            else f"normal expects std >= 0.0, but found std {lowest:g}"
        )
    tensors = [each.detach() for each in (mean, std) if isinstance(each, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError('normal() of two numbers is missing the argument "size"')
        base = randn(tuple(size), generator=generator, dtype=dtype, device=device)
        return deliver((base * std + mean).requires_grad_(requires_grad), out)
    shape = np.broadcast_shapes(*(each._array.shape for each in tensors))
    base = randn(shape, generator=generator, dtype=tensors[0].dtype, device=tensors[0].device)
    parts = [each.detach() if isinstance(each, Tensor) else each for each in (mean, std)]
    return deliver(base * parts[1] + parts[0], out)


def _bernoulli(p: Any, *, generator: Source) -> Any:
    if p.size and not bool(((p >= 0) & (p <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: probabilities must be in [0, 1]")
    kind = p.dtype if p.dtype.kind in "fV" else np.dtype("f4")
    return (drawn(generator_for(generator, p), "uniform", p.shape, kind) < p).astype(p.dtype)


BERNOULLI = operator("bernoulli", _bernoulli, lambda F, node, g: g * 0)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Source = None, out: Tensor | None = None) -> Tensor:
    """Random zeros and ones, of the shape and type of `input`.

    Each element of `input` is the probability of a one, between 0 and 1 (others raise a RuntimeError); with `p`, all
    probabilities are `p`. `generator`: the source of random numbers, by default that of the device. `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.bernoulli(mpigrad.ones(3))
    tensor([1., 1., 1.])
    """
    need_tensors("bernoulli", input=input)
    if p is not None:
        x = wrap(array_module(input._array).full(input._array.shape, p, input._array.dtype))
    elif input._array.dtype.kind not in "fV":
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{title(input._array)}'")
    else:
        x = input
    return deliver(BERNOULLI(x, generator=generator), out)


@guarded
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Source = None,
                out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Draw `num_samples` random indices for each row of `input`; the probability of an index is proportional to the
    row's element.

    `input` is (rows, classes) or (classes,), with weights that need not add up to 1; the result is int64, (rows,
    num_samples) or (num_samples,). `replacement`: an index may be drawn several times. `generator`: the source of
    random numbers, by default that of the device. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.multinomial(mpigrad.tensor([0.0, 1.0]), 2, replacement=True)
    tensor([1, 1])
    """
    array = input._array
    _check_weights(array, num_samples, replacement)
    xp = array_module(array)
    rows = array.reshape(-1, array.shape[-1]).astype("f8")
    source = generator_for(generator, array)
    if replacement:
        steps = xp.cumsum(rows, axis=-1)
        at = drawn(source, "uniform", (len(rows), num_samples), np.dtype("f8")) * steps[:, -1:]
        made = (steps[:, None, :] <= at[:, :, None]).sum(axis=-1)
        made = xp.minimum(made, xp.where(rows > 0, xp.arange(rows.shape[1]), 0).max(axis=1)[:, None])
    else:
        race = -xp.log1p(-drawn(source, "uniform", rows.shape, np.dtype("f8")))
        made = xp.argsort(xp.where(rows > 0, race / rows, xp.inf), axis=-1)[:, :num_samples]
    return deliver(wrap(made.reshape(*array.shape[:-1], num_samples).astype("i8")), out)


def _check_weights(array: Any, count: int, replacement: bool) -> None:
    if array.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if array.dtype.kind not in "fV":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {title(array)}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > array.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not bool(((array >= 0) & (array < np.inf)).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bool((array.sum(axis=-1) <= 0).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


for _fn in (bernoulli, multinomial):
    method(_fn)

__all__ = [
    "bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm",
]  # fmt: skip
