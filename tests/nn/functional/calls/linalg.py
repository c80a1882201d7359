"""Calls of `linalg`: invalid ones with the error that they must raise, valid ones with their node."""

from __future__ import annotations

from typing import Any

import mpigrad.linalg

from .inputs import spd, t

BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda m: m.linalg.multi_dot([t(m, 3)]), RuntimeError, "multi_dot(): expected at least 2 tensors but got 1"),
    (
        lambda m: m.linalg.multi_dot([t(m, 3), t(m, 4, 3)]),
        RuntimeError,
        "multi_dot(): tensors 0 and 1 with shapes [3] and [4, 3] cannot be multiplied",
    ),
    (
        lambda m: m.linalg.multi_dot([t(m, 3, 3, 3), t(m, 4, 3)]),
        RuntimeError,
        "multi_dot(): the first tensor must be 1D or 2D but got 3D",
    ),
    (
        lambda m: m.linalg.inv(m.zeros(2, 2)),
        mpigrad.linalg.LinAlgError,
        "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is "
        "singular.",
    ),
    (
        lambda m: m.linalg.inv(m.tensor([[1.0, 2.0], [2.0, 4.0]])),
        mpigrad.linalg.LinAlgError,
        "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is "
        "singular.",
    ),
    (
        lambda m: m.linalg.inv(m.stack([m.eye(2), m.zeros(2, 2)])),
        mpigrad.linalg.LinAlgError,
        "linalg.inv: (Batch element 1): The diagonal element 1 is zero, the inversion could not be completed because "
        "the input matrix is singular.",
    ),
    (
        lambda m: m.linalg.inv(t(m, 2, 3)),
        RuntimeError,
        "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (lambda m: m.linalg.inv(t(m, 3)), RuntimeError, "linalg.inv: The input tensor A must have at least 2 dimensions."),
    (
        lambda m: m.linalg.inv(m.ones(2, 2, dtype=m.int64)),
        RuntimeError,
        "linalg.inv: Expected a floating point or complex tensor as input. Got Long",
    ),
    (
        lambda m: m.linalg.solve(spd(m, 3), t(m, 4, 2).double()),
        RuntimeError,
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 4x2)",
    ),
    (
        lambda m: m.linalg.solve(spd(m, 3), t(m, 3, 2)),
        RuntimeError,
        "linalg.solve: Expected A and B to have the same dtype, but found A of type Double and B of type Float instead",
    ),
    (
        lambda m: m.linalg.solve(m.zeros(2, 2), t(m, 2)),
        mpigrad.linalg.LinAlgError,
        "mpigrad.linalg.solve: The solver failed because the input matrix is singular.",
    ),
    (
        lambda m: m.linalg.solve(t(m, 2, 3), t(m, 2)),
        RuntimeError,
        "linalg.solve: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        lambda m: m.linalg.det(t(m, 2, 3)),
        RuntimeError,
        "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        lambda m: m.linalg.cholesky(-spd(m, 3)),
        mpigrad.linalg.LinAlgError,
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order 1 is not positive-definite).",
    ),
    (
        lambda m: m.linalg.cholesky(m.tensor([[1.0, 0], [0, -1]])),
        mpigrad.linalg.LinAlgError,
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order 2 is not positive-definite).",
    ),
    (
        lambda m: m.linalg.cholesky(t(m, 2, 3)),
        RuntimeError,
        "linalg.cholesky: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        lambda m: m.linalg.cholesky(m.stack([m.eye(2), -m.eye(2)])),
        mpigrad.linalg.LinAlgError,
        "linalg.cholesky: (Batch element 1): The factorization could not be completed because the input is not "
        "positive-definite (the leading minor of order 1 is not positive-definite).",
    ),
    (
        lambda m: m.linalg.qr(t(m, 3, 2), mode="foo"),
        RuntimeError,
        "qr received unrecognized mode 'foo' but expected one of 'reduced' (default), 'r', or 'complete'",
    ),
    (
        lambda m: m.linalg.eigh(t(m, 2, 3)),
        RuntimeError,
        "linalg.eigh: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        lambda m: m.linalg.matrix_power(t(m, 2, 3), 2),
        RuntimeError,
        "linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        lambda m: m.linalg.solve_triangular(t(m, 2, 2), t(m, 3, 1), upper=True),
        RuntimeError,
        "linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x1)",
    ),
    (lambda m: m.linalg.norm(t(m, 3, 2), "foo"), RuntimeError, "linalg.matrix_norm: Order foo not supported."),
    (
        lambda m: m.linalg.norm(t(m, 3, 2, 2), 2),
        RuntimeError,
        "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.",
    ),
    (
        lambda m: m.linalg.matrix_norm(t(m, 3)),
        RuntimeError,
        "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.",
    ),
]

NAMED: list[tuple[Any, str]] = [
    (lambda m: m.linalg.multi_dot([t(m, 2, 3), t(m, 3, 4), t(m, 4, 5)]), "ViewBackward0"),
    (lambda m: m.linalg.multi_dot([t(m, 3), t(m, 3, 4), t(m, 4)]), "ViewBackward0"),
    (lambda m: m.linalg.inv(spd(m, 3)), "LinalgInvExBackward0"),
    (lambda m: m.linalg.solve(spd(m, 3), t(m, 3).double()), "LinalgSolveExBackward0"),
    (lambda m: m.linalg.solve(spd(m, 3), t(m, 3, 2).double()), "LinalgSolveExBackward0"),
    (lambda m: m.linalg.det(spd(m, 3)), "LinalgDetBackward0"),
    (lambda m: m.linalg.slogdet(spd(m, 2))[1], "LinalgSlogdetBackward0"),
    (lambda m: m.linalg.slogdet(spd(m, 2))[0], "LinalgSlogdetBackward0"),
    (lambda m: m.linalg.cholesky(spd(m, 3)), "LinalgCholeskyExBackward0"),
    (lambda m: m.linalg.qr(t(m, 3, 2))[0], "LinalgQrBackward0"),
    (lambda m: m.linalg.qr(t(m, 3, 2), mode="complete")[0], "LinalgQrBackward0"),
    (lambda m: m.linalg.svd(t(m, 3, 2))[0], "LinalgSvdBackward0"),
    (lambda m: m.linalg.svd(t(m, 3, 2), full_matrices=False)[1], "LinalgSvdBackward0"),
    (lambda m: m.linalg.svdvals(t(m, 3, 2)), "LinalgSvdBackward0"),
    (lambda m: m.linalg.eigh(spd(m, 3))[0], "LinalgEighBackward0"),
    (lambda m: m.linalg.eigvalsh(spd(m, 3)), "LinalgEighBackward0"),
    (lambda m: m.linalg.eig(spd(m, 3))[0], "LinalgEigBackward0"),
    (lambda m: m.linalg.eigvals(spd(m, 3)), "LinalgEigBackward0"),
    (lambda m: m.linalg.pinv(t(m, 3, 2)), "LinalgPinvBackward0"),
    (lambda m: m.linalg.pinv(spd(m, 2), hermitian=True), "LinalgPinvBackward0"),
    (lambda m: m.linalg.matrix_power(spd(m, 2), 3), "MmBackward0"),
    (lambda m: m.linalg.matrix_power(spd(m, 2), -2), "MmBackward0"),
    (lambda m: m.linalg.lstsq(t(m, 3, 2), t(m, 3, 1))[0], "LinalgLstsqBackward0"),
    (lambda m: m.linalg.lstsq(t(m, 3, 2), t(m, 3))[0], "LinalgLstsqBackward0"),
    (lambda m: m.linalg.solve_triangular(t(m, 2, 2), t(m, 2, 1), upper=True), "LinalgSolveTriangularBackward0"),
    (lambda m: m.linalg.norm(t(m, 3)), "LinalgVectorNormBackward0"),
    (lambda m: m.linalg.norm(t(m, 3, 2)), "LinalgVectorNormBackward0"),
    (lambda m: m.linalg.norm(t(m, 3, 2), "nuc"), "SumBackward1"),
    (lambda m: m.linalg.norm(t(m, 3, 2), 2), "AmaxBackward0"),
    (lambda m: m.linalg.norm(t(m, 3, 2, 2)), "LinalgVectorNormBackward0"),
    (lambda m: m.linalg.vector_norm(t(m, 3, 2)), "LinalgVectorNormBackward0"),
    (lambda m: m.linalg.matrix_norm(t(m, 3, 2)), "LinalgVectorNormBackward0"),
    (lambda m: m.linalg.matrix_norm(t(m, 3, 2), 1), "AmaxBackward0"),
    (lambda m: m.linalg.matrix_norm(t(m, 3, 2), 2), "AmaxBackward0"),
    (lambda m: m.linalg.matrix_norm(t(m, 3, 2), "nuc"), "SumBackward1"),
    (lambda m: m.linalg.cross(t(m, 3), t(m, 3)), "LinalgCrossBackward0"),
    (lambda m: m.linalg.vecdot(t(m, 3), t(m, 3)), "VdotBackward0"),
    (lambda m: m.linalg.diagonal(t(m, 3, 3)), "DiagonalBackward0"),
    (lambda m: m.linalg.multi_dot([t(m, 2, 3), t(m, 3, 4)]), "ViewBackward0"),
    (lambda m: m.linalg.inv_ex(spd(m, 2))[0], "LinalgInvExBackward0"),
    (lambda m: m.linalg.cholesky_ex(spd(m, 2))[0], "LinalgCholeskyExBackward0"),
    (lambda m: m.linalg.tensorsolve(t(m, 2, 2, 4), t(m, 2, 2)), "ViewBackward0"),
]
