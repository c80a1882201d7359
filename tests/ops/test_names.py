"""Every operator of the first release is there under each of its names: function, method, nn.functional."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.linalg
import mpigrad.nn.functional

BOTH = """
    add sub mul div pow exp log sqrt rsqrt abs sign sin cos tan asin acos atan sinh cosh tanh sigmoid erf relu maximum
    minimum clamp where eq ne lt le gt ge sum mean prod var std max min argmax argmin logsumexp norm cumsum any all matmul
    mm bmm mv dot outer addmm split chunk narrow reshape flatten squeeze unsqueeze transpose permute flip roll gather scatter
    scatter_add index_select index_add masked_fill topk sort nonzero tril triu diag softmax log_softmax equal allclose isclose
    inverse det cholesky logdet slogdet matrix_power clone detach numel neg reciprocal square lerp addcmul addcdiv baddbmm
    renorm cov corrcoef histc kthvalue mode median nanmedian nanmean nansum quantile nanquantile diff cummax cummin
    logcumsumexp take_along_dim kron cross addr addmv bincount unbind movedim swapaxes tile msort argsort aminmax amax
    amin count_nonzero i0 igamma mvlgamma frexp histogram index_reduce lu_solve narrow_copy
""".split()
FUNCTIONS = """
    einsum stack cat linspace arange zeros ones full empty zeros_like ones_like full_like empty_like eye rand randn randint
    randperm rand_like randn_like randint_like tensor as_tensor from_numpy manual_seed conv1d conv2d max_pool2d layer_norm
    dropout cdist searchsorted bucketize trapezoid cumulative_trapezoid gradient vander unravel_index hann_window poisson
    set_default_dtype get_num_threads frombuffer empty_strided isin tensordot meshgrid cartesian_prod block_diag lu_unpack
""".split()
METHODS = """
    view expand repeat backward register_hook retain_grad requires_grad_ item tolist numpy to cpu cuda float double half long
    contiguous size dim stride element_size data_ptr untyped_storage apply_ map_ is_set_to new_zeros new_ones new_full
    type_as view_as expand_as unfold storage_offset nelement copy_ fill_ zero_ add_ mul_ sub_ div_ clamp_ scatter_ index_add_
""".split()
FUNCTIONAL = """
    relu gelu softplus sigmoid tanh softmax log_softmax embedding embedding_bag conv1d conv2d conv3d max_pool2d avg_pool2d
    batch_norm layer_norm dropout mse_loss l1_loss smooth_l1_loss cross_entropy nll_loss binary_cross_entropy
    binary_cross_entropy_with_logits kl_div linear pad one_hot normalize cosine_similarity grid_sample affine_grid fold unfold
""".split()
LINALG = """
    multi_dot inv solve det cholesky norm vector_norm matrix_norm eig eigh eigvals eigvalsh svd svdvals qr pinv lstsq slogdet
    matrix_power matrix_exp matrix_rank cond lu lu_factor lu_solve solve_triangular cross vander vecdot
""".split()


@pytest.mark.parametrize("name", [*BOTH, *FUNCTIONS])
def test_function(name: str) -> None:
    assert callable(getattr(mpigrad, name)) and getattr(mpigrad, name).__doc__


@pytest.mark.parametrize("name", [*BOTH, *METHODS])
def test_method(name: str) -> None:
    assert callable(getattr(mpigrad.Tensor, name))


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name: str) -> None:
    assert callable(getattr(mpigrad.nn.functional, name))


@pytest.mark.parametrize("name", LINALG)
def test_linalg(name: str) -> None:
    assert callable(getattr(mpigrad.linalg, name))
