"""Writing along one dimension by index tensors: scatter, scatter_add."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import array_module
from mpigrad._tensor import Tensor, method

from .._define.guarded import guarded
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .add_at import add_at
from .gather import check_along, grid
from .scatter_reduce import back_to_source, check_source, scatter_reduce, used_part


def _scatter(x: Any, index: Any, src: Any = None, *, dim: int, value: Any = None) -> Any:
    made = x.copy()
    target = made.reshape(-1) if made.ndim == 0 else made
    key = (index.reshape(-1),) if made.ndim == 0 else grid(array_module(x), index, dim)
    if index.size:
        target[key] = value if src is None else used_part(index, src)
    return made


def _scatter_add(x: Any, index: Any, src: Any, *, dim: int) -> Any:
    made = x.copy()
    if made.ndim == 0:
        add_at(made.reshape(-1), (index.reshape(-1),), src.reshape(-1))
    elif index.size:
        add_at(made, grid(array_module(x), index, dim), used_part(index, src))
    return made


def _scatter_backward(F: Any, node: Any, g: Any, index: Any) -> Any:
    dim = node.kw["dim"]
    into_x = F.scatter_value(g, index, dim=dim, value=0) if node.needs[0] else None
    into_src = back_to_source(F, F.gather(g, index, dim=dim), node.shapes[2]) if node.needs[2] else None
    return into_x, None, into_src


def _scatter_add_backward(F: Any, node: Any, g: Any, index: Any) -> Any:
    source = node.needs[2] and back_to_source(F, F.gather(g, index, dim=node.kw["dim"]), node.shapes[2])
    return g, None, source if node.needs[2] else None


SCATTER = operator("scatter", _scatter, _scatter_backward, saves=(1,), node="ScatterBackward0")
SCATTER_VALUE = operator(
    "scatter_value",
    _scatter,
    lambda F, node, g, index: (F.scatter_value(g, index, dim=node.kw["dim"], value=0), None),
    saves=(1,),
    node="ScatterBackward1",
)
SCATTER_ADD = operator("scatter_add", _scatter_add, _scatter_add_backward, saves=(1,))


@guarded
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """A copy of `input` with `src` written at the positions that `index` gives: `result[index[i][j]][j] = src[i][j]`
    for `dim=0`.

    - `src`: a tensor at least as large as `index` (int64), or a number; `value` is another keyword for a number.
    - `reduce`: "add" or "multiply" combines with the old element instead of replacing it.

    If indices repeat without `reduce`, it is not defined which element of `src` is written. `out`: a tensor to which
    the result is written.

    >>> import mpigrad
    >>> mpigrad.zeros(3).scatter(0, mpigrad.tensor([2, 0]), mpigrad.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    given = value if src is None else src
    if reduce is not None:
        return deliver(_scatter_with(input, dim, index, given, reduce), out)
    if isinstance(given, Tensor) and (src is not None or given._array.ndim):
        at = check_source("scatter", input, dim, index, given)
        return deliver(SCATTER(input, index, given, dim=at), out)
    number = given.item() if isinstance(given, Tensor) else given
    at = check_along("scatter", input, dim, index)
    return deliver(SCATTER_VALUE(input, index, dim=at, value=number), out)


def _scatter_with(input: Tensor, dim: int, index: Tensor, given: Any, reduce: str) -> Tensor:
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}")
    src = given if isinstance(given, Tensor) else index.new_full(index.shape, given, dtype=input.dtype)
    return scatter_reduce(input, dim, index, src, "sum" if reduce == "add" else "prod")


@method
@guarded
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` added at the positions that `index` gives: `result[index[i][j]][j] += src[i][j]`
    for `dim=0`.

    `index` is int64; repeated indices add up. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.zeros(2).scatter_add(0, mpigrad.tensor([1, 1]), mpigrad.ones(2))
    tensor([0., 2.])
    """
    return deliver(SCATTER_ADD(input, index, src, dim=check_source("scatter_add", input, dim, index, src)), out)


method(scatter)
method(in_place(scatter), "scatter_")
method(in_place(scatter_add), "scatter_add_")

__all__ = ["scatter", "scatter_add"]
