"""Changes of shape."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
import mpigrad.nn.functional as F
from tests.ops.table.case import Case, clone_then, of, real


def shapes() -> Iterator[Case]:
    """Functions that move elements, or return views with another shape."""
    table: dict[str, Callable[[Any], Any]] = {
        "reshape": lambda x: x.reshape(3, 2), "view": lambda x: x.view(6), "flatten": lambda x: x.flatten(), "t": lambda x: x.t(),
        "transpose": lambda x: x.transpose(0, 1), "permute": lambda x: x.permute(1, 0), "unsqueeze": lambda x: x.unsqueeze(1),
        "squeeze": lambda x: x.unsqueeze(1).squeeze(1), "squeeze all": lambda x: x.unsqueeze(0).squeeze(),
        "squeeze several": lambda x: x.unsqueeze(0).unsqueeze(0).squeeze((0, 1)), "all of it": lambda x: x[...],
        "squeeze_": lambda x: clone_then(x.unsqueeze(0), lambda z: z.squeeze_()), "to copy": lambda x: x.to(x.dtype, copy=True),
        "squeeze_ dim": lambda x: clone_then(x.unsqueeze(0), lambda z: z.squeeze_(0)),
        "squeeze_ dims": lambda x: clone_then(x[None, None], lambda z: z.squeeze_((0, 1))),
        "expand": lambda x: x.expand(2, 2, 3), "expand new": lambda x: x.unsqueeze(1).expand(2, 4, 3),
        "repeat": lambda x: x.repeat(2, 1, 2), "tile": lambda x: mpigrad.tile(x, (2, 2)), "flip": lambda x: x.flip(0, 1),
        "roll": lambda x: x.roll(1, 0), "roll flat": lambda x: x.roll(2), "rot90": lambda x: mpigrad.rot90(x), "fliplr": mpigrad.fliplr,
        "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "diagonal": lambda x: x.diagonal(), "diag": lambda x: mpigrad.diag(x, 1),
        "diag of a "
        "vector": lambda x: mpigrad.diag(x[0]), "diag_embed": lambda x: mpigrad.diag_embed(x), "clone": lambda x: x.clone(),
        "channels last": lambda x: x[None, ..., None].contiguous(memory_format=mpigrad.channels_last),
        "contiguous": lambda x: x.t().contiguous(), "narrow": lambda x: x.narrow(1, 1, 2), "select": lambda x: x.select(1, 2),
        "slice": lambda x: x[:, ::2], "slice back": lambda x: x[1:, -2:], "number": lambda x: x[1], "new dim": lambda x: x[:, None],
        "ellipsis": lambda x: x[..., 0], "mask": lambda x: x[mpigrad.tensor([True, False])], "list": lambda x: x[[1, 0, 1]],
        "two "
        "lists": lambda x: x[[0, 1], [2, 0]], "split": lambda x: x.split(2, 1), "split sizes": lambda x: x.split([1, 2], 1),
        "chunk": lambda x: x.chunk(2, 1), "unbind": lambda x: x.unbind(0), "tensor_split": lambda x: mpigrad.tensor_split(x, 2, 1),
        "movedim": lambda x: x.movedim(0, 1), "swapaxes": lambda x: x.swapaxes(0, 1), "unflatten": lambda x: x.unflatten(1, (1, 3)),
        "repeat_interleave": lambda x: mpigrad.repeat_interleave(x, 2, dim=1), "unfold": lambda x: x.unfold(1, 2, 1),
        "as_strided": lambda x: mpigrad.as_strided(x, (2, 2), (1, 2)), "broadcast_to": lambda x: mpigrad.broadcast_to(x, (2, 2, 3)),
        "stack with itself": lambda x: mpigrad.stack([x, x], 1), "double": lambda x: x.double(), "mT": lambda x: x.mT,
        "to complex": lambda x: x.to(mpigrad.complex128), "diagflat": lambda x: mpigrad.diagflat(x),
        "vsplit": lambda x: mpigrad.vsplit(x, 2), "take": lambda x: mpigrad.take(x, mpigrad.tensor([0, 4, 4])), "ravel": mpigrad.ravel,
        "masked_select": lambda x: mpigrad.masked_select(x, mpigrad.tensor([True, False, True])), "adjoint": mpigrad.adjoint,
        "atleast_3d": mpigrad.atleast_3d, "combinations": lambda x: mpigrad.combinations(x[0]), "reshape copied": lambda x: x.t().reshape(6),
        "channel_shuffle": lambda x: F.channel_shuffle(x.reshape(1, 6, 1, 1), 2),
    }  # fmt: skip
    for name, function in table.items():
        yield Case(f"shape: {name}", function, (real(2, 3),))
    joins = {
        "cat": lambda *xs: mpigrad.cat(xs, 1),
        "stack": lambda *xs: mpigrad.stack(xs[:2], -1),
        "hstack": lambda *xs: mpigrad.hstack(xs),
    }
    joins |= {
        "vstack": lambda *xs: mpigrad.vstack(xs),
        "dstack": lambda *xs: mpigrad.dstack(xs),
        "column_stack": lambda *xs: mpigrad.column_stack(xs),
    }
    joins |= {"block_diag": mpigrad.block_diag, "meshgrid": lambda a, b: mpigrad.meshgrid(a[0], b[0], indexing="ij")}
    joins |= {
        "cartesian_prod": lambda a, b: mpigrad.cartesian_prod(a[0], b[0]),
        "broadcast_tensors": lambda a, b: mpigrad.broadcast_tensors(a, b[0]),
    }
    for name, join in joins.items():
        yield Case(f"join: {name}", join, (real(2, 2), real(2, 2)))
    yield Case("cat with nothing", lambda a, b: mpigrad.cat([a, b]), (real(0, 2), real(2, 2)))
    yield Case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (real(1, 4, 1, 2),))
    yield Case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), (real(1, 1, 2, 4),))
    yield Case("real and imag", lambda z: (z.real, z.imag), (of("complex", 3),))
    yield Case("view_as_real", mpigrad.view_as_real, (of("complex", 3),))
    yield Case("view_as_complex", mpigrad.view_as_complex, (real(3, 2),))
    yield Case("angle of complex", mpigrad.angle, (of("complex", 3),), second=False)
    for name in (
        "abs",
        "sgn",
        "exp",
        "conj",
        "sqrt",
        "sum",
        "mean",
        "neg",
        "log",
        "sin",
        "cos",
        "tanh",
        "reciprocal",
        "square",
    ):
        yield Case(f"complex {name}", getattr(mpigrad, name), (of("complex", 3),), second=name != "sgn")
