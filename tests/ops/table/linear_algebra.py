"""Inverses, solutions and factorizations."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
import mpigrad.linalg
from tests.ops.table.case import Case, of, real


def linear_algebra() -> Iterator[Case]:
    """Inverses, solutions and factorizations."""
    la = mpigrad.linalg
    square: dict[str, Callable[[Any], Any]] = {
        "inv": la.inv, "det": la.det, "slogdet": lambda a: la.slogdet(a)[1], "cholesky": la.cholesky, "qr": la.qr,
        "matrix_exp": la.matrix_exp, "eigvalsh": la.eigvalsh, "eigh": lambda a: (la.eigh(a)[0], la.eigh(a)[1].abs()), "svdvals": la.svdvals,
        "svd": lambda a: (la.svd(a)[0].abs(), la.svd(a)[1]), "pinv": la.pinv, "matrix_power": lambda a: la.matrix_power(a, 3),
        "negative "
        "power": lambda a: la.matrix_power(a, -2), "matrix_norm": la.matrix_norm, "vector_norm": la.vector_norm,
        "nuclear norm": lambda a: la.matrix_norm(a, "nuc"), "eigvals": lambda a: la.eigvals(a).real.sum(),
        "trace": lambda a: mpigrad.trace(a), "eig": lambda a: la.eig(a)[0].real.sum(),
    }  # fmt: skip
    for name, function in square.items():
        yield Case(f"linalg {name}", lambda a, function=function: function(_symmetric(a)), (of("spd", 3, 3),))
        if name not in ("trace",):
            yield Case(
                f"linalg {name} batch", lambda a, function=function: function(_symmetric(a)), (of("spd", 2, 2, 2),)
            )
    yield Case("cholesky by its old name", lambda a: mpigrad.cholesky(_symmetric(a)), (of("spd", 3, 3),))
    yield Case("linalg inv, not symmetric", la.inv, (of("well", 3, 3),))
    yield Case("linalg det, not symmetric", la.det, (of("well", 2, 3, 3),))
    yield Case("linalg det of rank 2", lambda a: la.det(a - a.mean(0)), (real(3, 3),), second=False)
    yield Case("linalg pinv of a wide one", la.pinv, (real(2, 3),))
    yield Case("linalg qr of a tall one", la.qr, (real(3, 2),))
    yield Case("linalg solve", la.solve, (of("well", 2, 3, 3), real(2, 3, 2)))
    yield Case("linalg solve a vector", la.solve, (of("well", 3, 3), real(3)))
    yield Case(
        "linalg solve_triangular", lambda a, b: la.solve_triangular(a, b, upper=True), (of("well", 3, 3), real(3, 2))
    )
    yield Case("linalg multi_dot", lambda *xs: la.multi_dot(xs), (real(2, 3), real(3, 2), real(2)))
    yield Case("linalg lstsq", lambda a, b: la.lstsq(a, b)[0], (real(4, 2), real(4, 1)))
    for shape in ((3, 3), (2, 2, 2), (2, 3), (3, 2)):
        yield Case(f"linalg lu {shape}", lambda a: la.lu(a)[1:], (of("apart", *shape),))
        yield Case(f"linalg lu_factor {shape}", lambda a: la.lu_factor(a)[0], (of("apart", *shape),))
    yield Case("linalg lu_solve", lambda a, b: la.lu_solve(*la.lu_factor(a), b), (of("well", 3, 3), real(3, 2)))
    yield Case("linalg vecdot", la.vecdot, (real(2, 3), real(2, 3)))
    yield Case("linalg complex inv", la.inv, (of("complex well", 2, 2),))
    yield Case("linalg complex solve", la.solve, (of("complex well", 2, 2), of("complex", 2)))
    yield Case("linalg complex det", la.det, (of("complex well", 2, 2),))


def _symmetric(a: Any) -> Any:
    return (a + a.mT) / 2
