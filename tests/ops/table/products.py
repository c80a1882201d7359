"""Products of matrices and tensors."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from collections.abc import Iterator

import mpigrad
import mpigrad.nn.functional as F
from tests.ops.table.case import Case, Input, Shape, of, real


def products() -> Iterator[Case]:
    """Products of matrices and their like."""
    m = mpigrad
    shapes: tuple[tuple[Shape, Shape], ...] = (
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (2, 3, 1)),
        ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 2)),
    )  # fmt: skip
    for a, b in shapes:
        yield Case(f"matmul {a} {b}", m.matmul, (Input(a), Input(b)))
    yield Case("mm", m.mm, (real(2, 3), real(3, 2)))
    yield Case("bmm", m.bmm, (real(2, 2, 3), real(2, 3, 1)))
    yield Case("mv", m.mv, (real(2, 3), real(3)))
    yield Case("dot", m.dot, (real(3), real(3)))
    yield Case("vdot", m.vdot, (real(3), real(3)))
    yield Case("outer", m.outer, (real(2), real(3)))
    yield Case("mm of nothing", m.mm, (real(2, 0), real(0, 3)))
    yield Case("bmm of nothing", m.bmm, (real(0, 2, 3), real(0, 3, 1)))
    yield Case("mv of nothing", m.mv, (real(0, 3), real(3)))
    yield Case("dot of nothing", m.dot, (real(0), real(0)))
    yield Case("outer of nothing", m.outer, (real(0), real(3)))
    yield Case("addmm of nothing", m.addmm, (real(2, 2), real(2, 0), real(0, 2)))
    yield Case("einsum of nothing", lambda a, b: m.einsum("ij,jk->ik", a, b), (real(0, 3), real(3, 2)))
    yield Case("tensordot, one against the sum", lambda a, b: m.tensordot(a, b, ([0], [1])), (real(1, 2), real(2, 3)))
    yield Case("inner", m.inner, (real(2, 3), real(4, 3)))
    yield Case("kron", m.kron, (real(2, 2), real(1, 2)))
    yield Case("cross", lambda a, b: m.cross(a, b, dim=1), (real(2, 3), real(2, 3)))
    yield Case("tensordot", lambda a, b: m.tensordot(a, b, dims=2), (real(2, 3, 2), real(3, 2, 2)))
    yield Case("chain_matmul", m.chain_matmul, (real(2, 3), real(3, 1), real(1, 2)))
    yield Case("addmm", lambda c, a, b: m.addmm(c, a, b, beta=0.5, alpha=2), (real(2), real(2, 3), real(3, 2)))
    yield Case("addmv", lambda c, a, b: m.addmv(c, a, b, beta=0.5, alpha=2), (real(2), real(2, 3), real(3)))
    yield Case("addr", lambda c, a, b: m.addr(c, a, b, beta=0.5, alpha=2), (real(2, 3), real(2), real(3)))
    yield Case("addbmm", lambda c, a, b: m.addbmm(c, a, b, beta=0.5), (real(2, 1), real(2, 2, 3), real(2, 3, 1)))
    yield Case("baddbmm", lambda c, a, b: m.baddbmm(c, a, b, alpha=2), (real(2, 1), real(2, 2, 3), real(2, 3, 1)))
    yield Case("linear", F.linear, (real(2, 3), real(4, 3), real(4)))
    yield Case("linear without bias", F.linear, (real(2, 2, 3), real(4, 3)))
    yield Case("bilinear", F.bilinear, (real(2, 2), real(2, 3), real(2, 2, 3), real(2)))
    for subscripts, *given in (
        ("ij,jk->ik", (2, 3), (3, 2)), ("ij->ji", (2, 3)), ("ii->", (3, 3)), ("bij,bjk", (2, 2, 3), (2, 3, 1)), ("i,j->ij", (2,), (3,)),
        ("...i,i->...", (2, 2, 3), (3,)), ("ii->i", (3, 3)), ("ij,ij->", (2, 2), (2, 2)), ("ab,bc,cd->ad", (2, 2), (2, 3), (3, 2)),
    ):  # fmt: skip
        inputs = tuple(Input(tuple(shape)) for shape in given)
        yield Case(f"einsum {subscripts}", lambda *args, subscripts=subscripts: m.einsum(subscripts, *args), inputs)
    for name, a, b in (
        ("mul", (3,), (3,)),
        ("matmul", (2, 2), (2, 2)),
        ("div", (2,), (2,)),
        ("vdot", (3,), (3,)),
        ("dot", (3,), (3,)),
    ):
        yield Case(f"complex {name}", getattr(m, name), (of("complex", *a), of("complex", *b)), second=name != "div")
