"""Statistics of samples: covariances, integrals by the trapezoidal rule, numerical gradients."""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.dims import wrap_dim, wrap_dims
from .._define.guarded import guarded
from .._define.unary import as_float
from ..create.create import ones_like
from ..create.ranges import arange
from ..elementwise.complex_numbers import complex as make_complex
from ..shape.joining import cat
from .products import cumprod


@guarded
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables: each row of `input` is a variable, each column an observation.

    `correction` is subtracted from the number of observations in the divisor. `fweights`: how often each observation
    counts (integers); `aweights`: its relative weight.

    >>> import mpigrad
    >>> mpigrad.cov(mpigrad.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    need_tensors("cov", input=input)
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = as_float(input).reshape(1, -1) if input.ndim < 2 else as_float(input)
    weights = _weights(x, fweights, aweights)
    total: Any = x.shape[1] if weights is None else weights.sum()
    centred = x - (x if weights is None else x * weights).sum(1, keepdim=True) / total
    if correction and aweights is not None:
        assert weights is not None
        spread: Any = total - correction * (weights * aweights).sum() / total
    else:
        spread = total - correction
    spread = spread.clamp(min=0) if isinstance(spread, Tensor) else max(spread, 0)
    other = centred if weights is None else centred * weights
    return (centred @ other.t().conj() / spread).squeeze()


def _weights(x: Tensor, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    for name, given, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if given is None:
            continue
        if given.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {given.ndim} dimensions"
            )
        if given._array.dtype.kind not in kinds:
            wanted = "integral" if kinds == "iu" else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {wanted} dtype but got {name} with {title(given._array)} dtype"
            )
        if given.numel() != x.shape[1]:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{given.numel()} != {x.shape[1]}"
            )
        if bool((given._array < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@guarded
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables: each row of `input` is a variable, each column an
    observation.

    >>> import mpigrad
    >>> mpigrad.corrcoef(mpigrad.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    need_tensors("corrcoef", input=input)
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    found = cov(input)
    if found.ndim == 0:
        return found / found
    spread = found.diagonal().real.sqrt() if found.is_complex() else found.diagonal().sqrt()
    found = found / spread.reshape(-1, 1) / spread
    if found.is_complex():
        return make_complex(found.real.clamp(-1, 1), found.imag.clamp(-1, 1))
    return found.clamp(-1, 1)


def _pieces(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> tuple[Any, Tensor, int]:
    """For the trapezoidal rule: the widths of the trapezoids (from positions `x` or the distance `dx`), and the sums
    of their two heights.
    """
    need_tensors(name, y=y)
    if not y.ndim:
        raise RuntimeError("Dimension specified as -1 but tensor has no dimensions" if dim == -1 else f"bad dim {dim}")
    place = wrap_dim(dim, y.ndim)
    count = max(y.shape[place] - 1, 0)
    heights = y.narrow(place, y.shape[place] - count, count) + y.narrow(place, 0, count)
    if x is None:
        if isinstance(dx, bool):
            raise RuntimeError(f"{name}: received a bool for `dx`, but bools are not supported")
        return dx, heights, place
    if x._array.dtype.kind == "b" or y._array.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if x.ndim == 1:
        if x.shape[0] != y.shape[place]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == place else 1 for i in range(y.ndim)])
        along = place
    else:
        along = wrap_dim(dim, x.ndim)
    return x.narrow(along, 1, x.shape[along] - 1) - x.narrow(along, 0, x.shape[along] - 1), heights, place


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of samples `y` along `dim` by the trapezoidal rule.

    `x` has the positions of the samples; or `dx` is their distance, by default 1.

    >>> import mpigrad
    >>> mpigrad.trapezoid(mpigrad.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    width, heights, place = _pieces("trapezoid", y, x, 1 if dx is None else dx, dim)
    if x is None:
        return heights.sum(place) * (width / 2)
    return (heights * width).sum(place) / 2


def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Another name of `trapezoid`, with the same arguments."""
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of samples from the first one up to each of the others, by the trapezoidal rule; arguments as for
    `trapezoid`.

    >>> import mpigrad
    >>> mpigrad.cumulative_trapezoid(mpigrad.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    width, heights, place = _pieces("cumulative_trapezoid", y, x, 1 if dx is None else dx, dim)
    if x is None:
        return (heights * (width / 2)).cumsum(place)
    return (heights * width / 2).cumsum(place)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The numerical gradient along each dimension of `dim` (default: all), from differences of neighbours: a tuple of
    tensors.

    - `spacing`: the distance of the elements, one number, one for each dimension, or a tensor of positions for each.
    - `edge_order`: the order of the formula at the ends, 1 or 2; inside, it is of second order.

    >>> import mpigrad
    >>> mpigrad.gradient(mpigrad.tensor([0.0, 1.0, 4.0, 9.0]))[0]
    tensor([1., 2., 4., 5.])
    """
    need_tensors("gradient", input=input)
    spacing = 1 if spacing is None else spacing
    found = wrap_dims(dim, input.ndim)
    dims = tuple(range(input.ndim)) if found is None else found
    spacings = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"mpigrad.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, "
            f"but got a list of length {len(spacings)}"
        )
    if edge_order not in (1, 2):
        raise RuntimeError("mpigrad.gradient only supports edge_order=1 and edge_order=2.")
    for each in dims:
        if input.shape[each] < edge_order + 1:
            raise RuntimeError(
                "mpigrad.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(_slope(as_float(input), each, space, edge_order) for each, space in zip(dims, spacings))


def _slope(x: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    count = x.shape[dim]
    if isinstance(spacing, Tensor) and spacing.ndim:
        places: Any = spacing
    else:
        step = spacing.item() if isinstance(spacing, Tensor) else spacing
        places = arange(count, dtype=x.dtype, device=x.device) * step
    places = places.reshape([-1 if i == dim else 1 for i in range(x.ndim)])

    def part(value: Tensor, start: int, length: int) -> Tensor:
        return value.narrow(dim, start, length)

    gaps = part(places, 1, count - 1) - part(places, 0, count - 1)
    steps = (part(x, 1, count - 1) - part(x, 0, count - 1)) / gaps
    before, after = part(gaps, 0, count - 2), part(gaps, 1, count - 2)
    inside = (part(steps, 0, count - 2) * after + part(steps, 1, count - 2) * before) / (before + after)
    first, last = part(steps, 0, 1), part(steps, count - 2, 1)
    if edge_order == 2:
        h, k = part(gaps, 0, 1), part(gaps, 1, 1)
        first = first - (part(steps, 1, 1) - first) * h / (h + k)
        h, k = part(gaps, count - 2, 1), part(gaps, count - 3, 1)
        last = last + (last - part(steps, count - 3, 1)) * h / (h + k)
    return cat([first, inside, last], dim)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix of a vector: each row has the powers of one element, N of them (default: the vector's
    length).

    Powers decrease from N - 1 to 0, or with `increasing` grow from 0.

    >>> import mpigrad
    >>> mpigrad.vander(mpigrad.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    need_tensors("vander", x=x)
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    made = _powers(x, x.shape[0] if N is None else N)
    return made if increasing else made.flip(-1)


def _powers(x: Tensor, count: int) -> Tensor:
    one = ones_like(x).unsqueeze(-1)
    if count < 2:
        return one.narrow(-1, 0, count)
    return cat([one, cumprod(x.unsqueeze(-1).expand(*x.shape, count - 1), -1)], -1)


def rising_vander(x: Tensor, N: int | None = None) -> Tensor:
    """The Vandermonde matrix of a vector: element (i, j) is `x[i] ** j`, with `N` columns (default: the length of `x`).

    `x` may have dimensions before the last one, which are batches.
    """
    need_tensors("linalg_vander", x=x)
    if N is not None and N <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if x.ndim else x.reshape(1)
    return _powers(x, x.shape[-1] if N is None else N)


method(cov)
method(corrcoef)

__all__ = ["corrcoef", "cov", "cumulative_trapezoid", "gradient", "trapezoid", "trapz", "vander"]
