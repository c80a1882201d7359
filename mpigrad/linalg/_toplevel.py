"""Functions of linear algebra that PyTorch also has at its top level, some under deprecated names."""

from __future__ import annotations

from ._factoring import old_cholesky as cholesky
from ._factoring import old_qr as qr
from ._factoring import old_svd as svd
from ._lu import lu_unpack
from ._lu import old_lu as lu
from ._lu import old_lu_solve as lu_solve
from ._solving import (
    cholesky_inverse,
    cholesky_solve,
    det,
    inverse,
    logdet,
    matrix_exp,
    matrix_power,
    pinverse,
    slogdet,
)

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "inverse",
    "logdet",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_power",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
]
