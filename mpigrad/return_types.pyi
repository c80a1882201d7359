"""Results with named parts. Made by tools/stubs.py; do not edit."""

from mpigrad._tensor import Tensor
from typing import NamedTuple


class aminmax(NamedTuple):
    """The result of `mpigrad.aminmax`: min, max."""

    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    """The result of `mpigrad.cummax`: values, indices."""

    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    """The result of `mpigrad.cummin`: values, indices."""

    values: Tensor
    indices: Tensor

class frexp(NamedTuple):
    """The result of `mpigrad.frexp`: mantissa, exponent."""

    mantissa: Tensor
    exponent: Tensor

class histogram(NamedTuple):
    """The result of `mpigrad.histogram`: hist, bin_edges."""

    hist: Tensor
    bin_edges: Tensor

class kthvalue(NamedTuple):
    """The result of `mpigrad.kthvalue`: values, indices."""

    values: Tensor
    indices: Tensor

class linalg_cholesky_ex(NamedTuple):
    """The result of `mpigrad.linalg_cholesky_ex`: L, info."""

    L: Tensor
    info: Tensor

class linalg_eig(NamedTuple):
    """The result of `mpigrad.linalg_eig`: eigenvalues, eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eigh(NamedTuple):
    """The result of `mpigrad.linalg_eigh`: eigenvalues, eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_inv_ex(NamedTuple):
    """The result of `mpigrad.linalg_inv_ex`: inverse, info."""

    inverse: Tensor
    info: Tensor

class linalg_lstsq(NamedTuple):
    """The result of `mpigrad.linalg_lstsq`: solution, residuals, rank, singular_values."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_lu(NamedTuple):
    """The result of `mpigrad.linalg_lu`: P, L, U."""

    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu_factor(NamedTuple):
    """The result of `mpigrad.linalg_lu_factor`: LU, pivots."""

    LU: Tensor
    pivots: Tensor

class linalg_lu_factor_ex(NamedTuple):
    """The result of `mpigrad.linalg_lu_factor_ex`: LU, pivots, info."""

    LU: Tensor
    pivots: Tensor
    info: Tensor

class linalg_qr(NamedTuple):
    """The result of `mpigrad.linalg_qr`: Q, R."""

    Q: Tensor
    R: Tensor

class linalg_slogdet(NamedTuple):
    """The result of `mpigrad.linalg_slogdet`: sign, logabsdet."""

    sign: Tensor
    logabsdet: Tensor

class linalg_solve_ex(NamedTuple):
    """The result of `mpigrad.linalg_solve_ex`: result, info."""

    result: Tensor
    info: Tensor

class linalg_svd(NamedTuple):
    """The result of `mpigrad.linalg_svd`: U, S, Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor

class lu_unpack(NamedTuple):
    """The result of `mpigrad.lu_unpack`: P, L, U."""

    P: Tensor
    L: Tensor
    U: Tensor

class max(NamedTuple):
    """The result of `mpigrad.max`: values, indices."""

    values: Tensor
    indices: Tensor

class median(NamedTuple):
    """The result of `mpigrad.median`: values, indices."""

    values: Tensor
    indices: Tensor

class min(NamedTuple):
    """The result of `mpigrad.min`: values, indices."""

    values: Tensor
    indices: Tensor

class mode(NamedTuple):
    """The result of `mpigrad.mode`: values, indices."""

    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    """The result of `mpigrad.nanmedian`: values, indices."""

    values: Tensor
    indices: Tensor

class qr(NamedTuple):
    """The result of `mpigrad.qr`: Q, R."""

    Q: Tensor
    R: Tensor

class sort(NamedTuple):
    """The result of `mpigrad.sort`: values, indices."""

    values: Tensor
    indices: Tensor

class svd(NamedTuple):
    """The result of `mpigrad.svd`: U, S, V."""

    U: Tensor
    S: Tensor
    V: Tensor

class topk(NamedTuple):
    """The result of `mpigrad.topk`: values, indices."""

    values: Tensor
    indices: Tensor

__all__ = ['aminmax', 'cummax', 'cummin', 'kthvalue', 'linalg_cholesky_ex', 'linalg_eig', 'linalg_eigh', 'linalg_inv_ex', 'linalg_lstsq', 'linalg_qr', 'linalg_slogdet', 'linalg_solve_ex', 'linalg_svd', 'max', 'median', 'min', 'mode', 'nanmedian', 'qr', 'sort', 'svd', 'topk']
