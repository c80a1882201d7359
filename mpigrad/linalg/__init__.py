"""Linear algebra: matrix products, linear equations, factorizations, norms.

Matrices are the last two dimensions of tensors; dimensions before them are batches. `out` is a tensor to which the result
is written; functions that return a named tuple ignore it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from .._ops.linalg.matmul import matmul
    from .._ops.reduce.norms import vector_norm
    from ._checking import LinAlgError
    from ._factoring import cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
    from ._lu import lu, lu_factor, lu_factor_ex, lu_solve, vander
    from ._norms import cond, cross, diagonal, matrix_norm, matrix_rank, norm, vecdot
    from ._solving import (
        det,
        inv,
        inv_ex,
        lstsq,
        matrix_exp,
        matrix_power,
        multi_dot,
        pinv,
        slogdet,
        solve,
        solve_ex,
        solve_triangular,
        tensorinv,
        tensorsolve,
    )
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
