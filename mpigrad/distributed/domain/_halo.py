"""`halo_exchange`: a block surrounded by elements of its neighbours (the halo), and its gradient.

The exchange is two nodes of the graph. `_Start` copies the block into the middle of the result and starts the messages,
`_Wait` waits for them and fills the halo. Their adjoints are `_WaitAdjoint` and `_StartAdjoint`: the gradient of the halo
travels to the ranks that own its elements, which add it to their own. So work between start and wait overlaps with
messages in both passes, and derivatives of any order are exchanges again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from mpigrad._array.device import array_module, guard
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group.buffers import check_tensor
from ._grid import ProcessGrid
from ._messages import Incoming, Messages, Outgoing

_MODES = ("constant", "reflect", "replicate")
Index = tuple[Any, ...]


class _Side:
    """One dimension of a halo: the axis of the tensor, the widths before and after, and the boundary at the ends of the grid.

    `first` and `last` say whether the block is at an end of the grid. In the methods, `n` is the length of the block, and
    `step` is -1 (before), 1 (after) or 0 (the block itself).
    """

    def __init__(self, axis: int, widths: tuple[int, int], mode: str, first: bool, last: bool) -> None:
        self.axis, (self.before, self.after), self.mode = axis, widths, mode
        self.first, self.last = first, last  # whether the block is at an end of the grid

    def steps(self) -> tuple[int, ...]:
        """Return the steps for which this dimension has a halo, and 0."""
        return (0, *((-1,) if self.before else ()), *((1,) if self.after else ()))

    def inside(self, n: int) -> slice:
        """Return the slice of the result in which the block lies."""
        return slice(self.before, self.before + n)

    def halo(self, step: int, n: int) -> slice:
        """Return the slice of the result that is the halo on one side; for step 0, the slice that is the block itself."""
        if step == 0:
            return self.inside(n)
        return slice(0, self.before) if step < 0 else slice(self.before + n, self.before + n + self.after)

    def given(self, step: int, n: int) -> slice:
        """Return the slice of the block that is the halo of the neighbour on the opposite side; for step 0, the whole block."""
        if step == 0:
            return slice(0, n)
        return slice(n - self.before, n) if step < 0 else slice(0, self.after)


class _Halo:
    """The linear operator from a block to the block with its halo, and its transpose.

    A part of a halo is named by its direction from the block, one step (-1, 0 or 1) for each dimension, e.g. (0, -1). `ours` are
    the parts of this rank's halo, each with the rank that owns its elements. `theirs` are the parts of other ranks' halos whose
    elements this rank owns, each with the rank that needs it. `missing` are the corners that are not exchanged, `pads` the
    dimensions in which the block is at an end of the grid.
    """

    def __init__(self, grid: ProcessGrid, sides: list[_Side], corners: bool) -> None:
        self.grid, self.sides = grid, sides
        ways = [each for each in product(*(side.steps() for side in sides)) if any(each)]
        self.missing = [] if corners else [each for each in ways if sum(map(abs, each)) > 1]
        ways = [each for each in ways if each not in self.missing]
        self.ours = [(each, rank) for each in ways if (rank := grid.neighbor(each)) is not None]
        self.theirs = [(each, rank) for each in ways if (rank := grid.neighbor(_opposite(each))) is not None]
        self.pads = [side for side in sides if side.first and side.before or side.last and side.after]

    # -- places ------------------------------------------------------------------------------------------------------
    def lengths(self, shape: tuple[int, ...], padded: bool) -> list[int]:
        """Return the lengths of the block along the dimensions of the halo.

        `shape` is that of the block or, if `padded`, of the result.
        """
        return [shape[side.axis] - (side.before + side.after if padded else 0) for side in self.sides]

    def index(self, slices: Sequence[slice]) -> Index:
        """Return an index of arrays that selects these slices along the halo's dimensions."""
        # Axes are negative, so the index is made from the back: `...` stands for the dimensions in front.
        found: list[Any] = [slice(None)] * -min(side.axis for side in self.sides)
        for side, each in zip(self.sides, slices):
            found[side.axis] = each
        return (..., *found)

    def halo(self, way: tuple[int, ...], lengths: list[int]) -> Index:
        return self.index([side.halo(step, n) for side, step, n in zip(self.sides, way, lengths)])

    def given(self, way: tuple[int, ...], lengths: list[int]) -> Index:
        return self.index([side.given(step, n) for side, step, n in zip(self.sides, way, lengths)])

    def inside(self, lengths: list[int]) -> Index:
        return self.index([side.inside(n) for side, n in zip(self.sides, lengths)])

    # -- the operator ------------------------------------------------------------------------------------------------
    def start(self, x: Any) -> tuple[Any, Messages]:
        """Return the result with its halo not filled yet, and the messages that will fill it."""
        lengths = self.lengths(x.shape, padded=False)
        shape = list(x.shape)
        for side, n in zip(self.sides, lengths):
            shape[side.axis] = side.before + n + side.after
        with guard(x):
            made = array_module(x).empty(tuple(shape), x.dtype)
            made[self.inside(lengths)] = x
        sends = [Outgoing(rank, _number(way), x[self.given(way, lengths)]) for way, rank in self.theirs]
        receives = [_from(rank, way, made, self.halo(way, lengths)) for way, rank in self.ours]
        return made, Messages("halo_exchange", self.grid.group, sends, receives, x)

    def finish(self, made: Any, arrived: list[tuple[Any, Any]], value: Any) -> None:
        """Fill the halo of the result `made`: with the blocks that have arrived, and at the ends of the grid."""
        lengths = self.lengths(made.shape, padded=True)
        with guard(made):
            for at, block in arrived:
                made[at] = block
            for way in self.missing:
                made[self.halo(way, lengths)] = 0
            # One dimension after the other, over the whole width of the result: so corners repeat elements in both dimensions.
            for side in self.pads:
                for to, of in self._ends(side, made.shape[side.axis]):
                    made[to] = value if of is None else made[of]

    def _ends(self, side: _Side, length: int) -> list[tuple[Index, Index | None]]:
        """Return the halos beyond the ends of the grid, each with the elements that it repeats (None for a constant)."""
        axis, a, b = side.axis, side.before, side.after
        found, end = [], length - b  # of the inside
        until = end - b - 2  # -1 would count from the end
        for is_end, to, mirrored, border in (
            (side.first and a, slice(0, a), slice(2 * a, a, -1), slice(a, a + 1)),
            (side.last and b, slice(end, length), slice(end - 2, until if until >= 0 else None, -1), slice(end - 1, end)),
        ):
            if is_end:
                of = {"constant": None, "reflect": mirrored, "replicate": border}[side.mode]
                found.append((_along(axis, to), None if of is None else _along(axis, of)))
        return found

    # -- its transpose -----------------------------------------------------------------------------------------------
    def start_adjoint(self, g: Any) -> tuple[Any, Messages]:
        """Return the gradient of the result, and the messages that take the gradients of halos to their owners.

        The gradients of elements that repeat others are already added to those of the originals.
        """
        lengths = self.lengths(g.shape, padded=True)
        with guard(g):
            g = self._folded(g)
        inside = g[self.inside(lengths)]
        sends = [Outgoing(rank, _number(way), g[self.halo(way, lengths)]) for way, rank in self.ours]
        receives = [_from(rank, way, inside, self.given(way, lengths)) for way, rank in self.theirs]
        return g, Messages("halo_exchange (adjoint)", self.grid.group, sends, receives, g)

    def finish_adjoint(self, g: Any, arrived: list[tuple[Any, Any]]) -> Any:
        """Return the gradient of the block: with the gradients that have arrived."""
        with guard(g):
            made = g[self.inside(self.lengths(g.shape, padded=True))].copy()
            for at, block in arrived:
                made[at] += block
        return made

    def _folded(self, g: Any) -> Any:
        """Return the gradient in which elements beyond the ends of the grid, which repeat others, are 0.

        Their gradients are added to those of the originals.
        """
        pairs = [pair for side in reversed(self.pads) for pair in reversed(self._ends(side, g.shape[side.axis]))]
        if all(of is None for _, of in pairs):
            return g  # no block that is sent or kept contains constants
        g = g.copy()
        for side in reversed(self.pads):  # the transpose of `finish` undoes its steps in reverse order
            for to, of in reversed(self._ends(side, g.shape[side.axis])):
                if of is not None:
                    part = g[to]
                    g[of] += part if side.mode == "reflect" else part.sum(axis=side.axis, keepdims=True)
                g[to] = 0
        return g


def _along(axis: int, part: slice) -> Index:
    return (..., part, *[slice(None)] * (-axis - 1))


def _opposite(way: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-step for step in way)


def _from(rank: int, way: tuple[int, ...], array: Any, at: Index) -> Incoming:
    return Incoming(rank, _number(way), array[at].shape, at)


def _number(way: tuple[int, ...]) -> int:
    """Return a number for a direction, which distinguishes its messages from those of other directions."""
    number = 0
    for step in way:
        number = 3 * number + step + 1
    return number


# -- nodes of the graph ------------------------------------------------------------------------------------------------
class _Crossing:
    """What the two nodes of one exchange share: its messages, and the `_Crossing` of the exchange in the backward pass."""

    __slots__ = ("adjoint", "messages")
    messages: Messages
    adjoint: _Crossing

    def arrived(self) -> list[tuple[Any, Any]]:
        """Wait for the messages and return the blocks. Drops the messages, as this object lives until the backward pass."""
        found = self.messages.wait()
        del self.messages
        return found


class _Start(Function):
    """Starts an exchange."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, halo: _Halo, crossing: _Crossing) -> Tensor:
        ctx.halo, ctx.crossing = halo, crossing
        made, crossing.messages = halo.start(x._array)
        return wrap(made)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _WaitAdjoint.apply(g, ctx.halo, ctx.crossing.adjoint), None, None


class _Wait(Function):
    """Waits for an exchange; its backward starts that of the gradients."""

    @staticmethod
    def forward(ctx: Any, made: Tensor, halo: _Halo, crossing: _Crossing, value: Any) -> Tensor:
        ctx.halo, ctx.crossing = halo, crossing
        halo.finish(made._array, crossing.arrived(), value)
        return wrap(made._array)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        ctx.crossing.adjoint = _Crossing()
        return _StartAdjoint.apply(g, ctx.halo, ctx.crossing.adjoint), None, None, None


class _StartAdjoint(Function):
    """Starts the exchange of gradients."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, halo: _Halo, crossing: _Crossing) -> Tensor:
        ctx.halo, ctx.crossing = halo, crossing
        folded, crossing.messages = halo.start_adjoint(g._array)
        return wrap(folded)

    @staticmethod
    def backward(ctx: Any, made: Tensor) -> Any:
        return _Wait.apply(made, ctx.halo, ctx.crossing.adjoint, 0), None, None


class _WaitAdjoint(Function):
    """Waits for the exchange of gradients."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, halo: _Halo, crossing: _Crossing) -> Tensor:
        ctx.halo, ctx.crossing = halo, crossing
        return wrap(halo.finish_adjoint(g._array, crossing.arrived()))

    @staticmethod
    def backward(ctx: Any, x: Tensor) -> Any:
        ctx.crossing.adjoint = _Crossing()
        return _Start.apply(x, ctx.halo, ctx.crossing.adjoint), None, None


# -- what users call ---------------------------------------------------------------------------------------------------
class HaloExchange:
    """An exchange that `halo_exchange(..., async_op=True)` has started; call its `wait` once."""

    def __init__(self, x: Tensor, halo: _Halo, value: Any) -> None:
        self._halo, self._value, self._crossing = halo, value, _Crossing()
        self._made: Tensor | None = _Start.apply(x, halo, self._crossing)

    def wait(self) -> Tensor:
        """Wait for the neighbours' elements and return the block with its halo; RuntimeError if it was called before."""
        if self._made is None:
            raise RuntimeError("wait() was called before: keep its result")
        made, self._made = self._made, None
        return _Wait.apply(made, self._halo, self._crossing, self._value)


def halo_exchange(
    x: Tensor,
    width: int | Sequence[int | Sequence[int]],
    grid: ProcessGrid,
    *,
    dims: Sequence[int] | None = None,
    boundary: str | Sequence[str] = "constant",
    value: float = 0.0,
    corners: bool = True,
    async_op: bool = False,
) -> Any:
    """Return the block `x` of this rank, surrounded by `width` elements of the neighbouring blocks.

    All ranks of the grid must call it, and must also run a backward pass if one does: in it, gradients of the halo travel
    back to the blocks that they came from.

    Args:
        x: the block. It may have more dimensions than the grid, such as fields or batches; these are not cut.
        width: one number, or for each dimension of the grid a number or a pair (before, after).
        grid: the `ProcessGrid` on which the blocks are.
        dims: the dimensions of `x` that the grid cuts, by default the last ones.
        boundary: what the halo has beyond the ends of the grid in dimensions that are not periodic: "constant" (`value`),
            "reflect" or "replicate", as the modes of `nn.functional.pad`; one for all dimensions of the grid, or one for each.
        value: the constant of "constant".
        corners: if False, only blocks that share a face exchange messages, and the corners of the halo are 0.
        async_op: return a `HaloExchange` at once: compute what needs no halo, then call its `wait()`.

    ValueError on a rank whose block, or that of a neighbour, is shorter than the halo.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed.domain import ProcessGrid, halo_exchange
    >>> dist.init_process_group("mpi")
    >>> ring = ProcessGrid((1,), periodic=True)
    >>> x = mpigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> wide = halo_exchange(x, 1, ring)
    >>> wide.tolist()
    [3.0, 1.0, 2.0, 3.0, 1.0]
    >>> wide.sum().backward()
    >>> x.grad.tolist()
    [2.0, 1.0, 2.0]
    >>> dist.destroy_process_group()
    """
    halo = _halo_of(x, width, grid, dims, boundary, corners)
    started = HaloExchange(x, halo, value)
    return started if async_op else started.wait()


def _halo_of(x: Any, width: Any, grid: Any, dims: Any, boundary: Any, corners: bool) -> _Halo:
    """Check the arguments of `halo_exchange`, and return its operator; TypeError or ValueError if they do not fit."""
    check_tensor(x)
    if not isinstance(grid, ProcessGrid):
        raise TypeError(f"halo_exchange needs a ProcessGrid, got {type(grid).__name__}")
    count = grid.ndim
    axes = [each - x.ndim if each >= 0 else each for each in dims] if dims is not None else list(range(-count, 0))
    if len(set(axes)) != count or min(axes) < -x.ndim or max(axes) >= 0:
        raise ValueError(f"halo_exchange needs {count} dimensions of x, as the grid has, got dims={dims} for {tuple(x.shape)}")
    modes = [boundary] * count if isinstance(boundary, str) else list(boundary)
    if len(modes) != count or any(each not in _MODES for each in modes):
        raise ValueError(f"boundary must be one of {_MODES}, or one of them for each of {count} dimensions, got {boundary!r}")
    sides = []
    for axis, pair, mode, at, parts, ring in zip(
        axes, _widths(width, count), modes, grid.coords, grid.shape, grid.periodic
    ):
        side = _Side(axis, pair, mode, not ring and at == 0, not ring and at == parts - 1)
        sides.append(side)
    halo = _Halo(grid, sides, corners)
    for side in sides:
        _check_block(side, x, halo)
    return halo


def _widths(width: Any, count: int) -> list[tuple[int, int]]:
    given = [width] * count if isinstance(width, int) else list(width)
    pairs = [(each, each) if isinstance(each, int) else tuple(each) for each in given]
    if len(pairs) != count or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError(
            f"width must be a number >= 0, or for each of {count} dimensions a number or a pair (before, after), got {width}"
        )
    return pairs


def _check_block(side: _Side, x: Tensor, halo: _Halo) -> None:
    """Raise a ValueError if the block is too short for the halos of its neighbours.

    The neighbours get an empty message, so that they raise an error too, instead of waiting until the timeout.
    """
    n, widest = x.shape[side.axis], max(side.before, side.after)
    reflected = side.mode == "reflect" and (side.first and side.before >= n or side.last and side.after >= n)
    if n >= widest and not reflected:
        return
    empty = x._array.reshape(-1)[:0]
    Messages("halo_exchange", halo.grid.group, [Outgoing(rank, _number(way), empty) for way, rank in halo.theirs], [], empty)
    raise ValueError(
        f"halo_exchange: the block of rank {halo.grid.rank()} has {n} elements along dimension {side.axis}, fewer than a halo of "
        f"width {widest}{' with reflection' if reflected else ''} needs; use fewer ranks along this dimension, or a narrower halo"
    )
