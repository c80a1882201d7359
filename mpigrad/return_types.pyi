"""Results with named parts. Made by tools/stubs.py; do not edit."""

from mpigrad._tensor import Tensor
from typing import NamedTuple


class aminmax(NamedTuple):
    """The named tuple that `mpigrad.aminmax` returns: min, max."""

    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    """The named tuple that `mpigrad.cummax` returns: values, indices."""

    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    """The named tuple that `mpigrad.cummin` returns: values, indices."""

    values: Tensor
    indices: Tensor

class frexp(NamedTuple):
    """The named tuple that `mpigrad.frexp` returns: mantissa, exponent."""

    mantissa: Tensor
    exponent: Tensor

class histogram(NamedTuple):
    """The named tuple that `mpigrad.histogram` returns: hist, bin_edges."""

    hist: Tensor
    bin_edges: Tensor

class kthvalue(NamedTuple):
    """The named tuple that `mpigrad.kthvalue` returns: values, indices."""

    values: Tensor
    indices: Tensor

class linalg_cholesky_ex(NamedTuple):
    """The named tuple that `mpigrad.linalg.cholesky_ex` returns: L, info."""

    L: Tensor
    info: Tensor

class linalg_eig(NamedTuple):
    """The named tuple that `mpigrad.linalg.eig` returns: eigenvalues, eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eigh(NamedTuple):
    """The named tuple that `mpigrad.linalg.eigh` returns: eigenvalues, eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_inv_ex(NamedTuple):
    """The named tuple that `mpigrad.linalg.inv_ex` returns: inverse, info."""

    inverse: Tensor
    info: Tensor

class linalg_lstsq(NamedTuple):
    """The named tuple that `mpigrad.linalg.lstsq` returns: solution, residuals, rank, singular_values."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_lu(NamedTuple):
    """The named tuple that `mpigrad.linalg.lu` returns: P, L, U."""

    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu_factor(NamedTuple):
    """The named tuple that `mpigrad.linalg.lu_factor` returns: LU, pivots."""

    LU: Tensor
    pivots: Tensor

class linalg_lu_factor_ex(NamedTuple):
    """The named tuple that `mpigrad.linalg.lu_factor_ex` returns: LU, pivots, info."""

    LU: Tensor
    pivots: Tensor
    info: Tensor

class linalg_qr(NamedTuple):
    """The named tuple that `mpigrad.linalg.qr` returns: Q, R."""

    Q: Tensor
    R: Tensor

class linalg_slogdet(NamedTuple):
    """The named tuple that `mpigrad.linalg.slogdet` returns: sign, logabsdet."""

    sign: Tensor
    logabsdet: Tensor

class linalg_solve_ex(NamedTuple):
    """The named tuple that `mpigrad.linalg.solve_ex` returns: result, info."""

    result: Tensor
    info: Tensor

class linalg_svd(NamedTuple):
    """The named tuple that `mpigrad.linalg.svd` returns: U, S, Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor

class lu_unpack(NamedTuple):
    """The named tuple that `mpigrad.lu_unpack` returns: P, L, U."""

    P: Tensor
    L: Tensor
    U: Tensor

class max(NamedTuple):
    """The named tuple that `mpigrad.max` returns: values, indices."""

    values: Tensor
    indices: Tensor

class median(NamedTuple):
    """The named tuple that `mpigrad.median` returns: values, indices."""

    values: Tensor
    indices: Tensor

class min(NamedTuple):
    """The named tuple that `mpigrad.min` returns: values, indices."""

    values: Tensor
    indices: Tensor

class mode(NamedTuple):
    """The named tuple that `mpigrad.mode` returns: values, indices."""

    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    """The named tuple that `mpigrad.nanmedian` returns: values, indices."""

    values: Tensor
    indices: Tensor

class qr(NamedTuple):
    """The named tuple that `mpigrad.qr` returns: Q, R."""

    Q: Tensor
    R: Tensor

class sort(NamedTuple):
    """The named tuple that `mpigrad.sort` returns: values, indices."""

    values: Tensor
    indices: Tensor

class svd(NamedTuple):
    """The named tuple that `mpigrad.svd` returns: U, S, V."""

    U: Tensor
    S: Tensor
    V: Tensor

class topk(NamedTuple):
    """The named tuple that `mpigrad.topk` returns: values, indices."""

    values: Tensor
    indices: Tensor

__all__ = ['aminmax', 'cummax', 'cummin', 'kthvalue', 'linalg_cholesky_ex', 'linalg_eig', 'linalg_eigh', 'linalg_inv_ex', 'linalg_lstsq', 'linalg_qr', 'linalg_slogdet', 'linalg_solve_ex', 'linalg_svd', 'max', 'median', 'min', 'mode', 'nanmedian', 'qr', 'sort', 'svd', 'topk']
