"""One table of calls of `nn.functional` and `linalg`, for numerical derivatives and for the comparison with PyTorch.

A case is (title, call, inputs): `call(m, *tensors)` gets the module (mpigrad, or torch in the oracle's tests) and
tensors made from `inputs`: a shape (random numbers), an array, or a function of a random generator that gives one.
Float arrays get gradients, integer ones do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Case = tuple[str, Any, tuple[Any, ...]]

CLASSES = np.array([0, 2, 1, 1, 0])
IMAGE_CLASSES = np.array([[[0, 2], [1, -100]], [[1, 1], [2, 0]]])


class Fixed:
    """An array that gets no gradient."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)


def positive(*shape: int) -> Any:
    """Numbers between 0.3 and 0.7."""
    return lambda random: random.uniform(0.3, 0.7, shape)


def apart(*shape: int) -> Any:
    """Numbers with no two close to each other, nor to 0, so that maxima and kinks are not crossed."""

    def make(random: Any) -> Any:
        count = int(np.prod(shape))
        return (random.permutation(count) - count / 2 + 0.25).reshape(shape) * 0.2

    return make


def rows(m: Any, array: Any) -> Any:
    """A tensor of `m` around a NumPy array."""
    return m.tensor(np.asarray(array))


MATRIX_PRODUCTS: list[Case] = [
    ("mm", lambda m, a, b: m.mm(a, b), ((3, 4), (4, 2))),
    ("mm of transposed", lambda m, a, b: m.mm(a.t(), b), ((4, 3), (4, 2))),
    ("bmm", lambda m, a, b: m.bmm(a, b), ((5, 3, 4), (5, 4, 2))),
    ("mv", lambda m, a, b: m.mv(a, b), ((3, 4), (4,))),
    ("dot", lambda m, a, b: m.dot(a, b), ((4,), (4,))),
    ("vdot", lambda m, a, b: m.vdot(a, b), ((4,), (4,))),
    ("outer", lambda m, a, b: m.outer(a, b), ((4,), (3,))),
    ("inner", lambda m, a, b: m.inner(a, b), ((2, 3), (4, 3))),
    ("inner of vectors", lambda m, a, b: m.inner(a, b), ((3,), (3,))),
    ("matmul 1x1", lambda m, a, b: a @ b, ((3,), (3,))),
    ("matmul 1x2", lambda m, a, b: a @ b, ((3,), (3, 2))),
    ("matmul 2x1", lambda m, a, b: a @ b, ((2, 3), (3,))),
    ("matmul 2x2", lambda m, a, b: a @ b, ((2, 3), (3, 4))),
    ("matmul 3x1", lambda m, a, b: a @ b, ((5, 2, 3), (3,))),
    ("matmul 1x3", lambda m, a, b: a @ b, ((3,), (5, 3, 2))),
    ("matmul 3x2", lambda m, a, b: a @ b, ((5, 2, 3), (3, 4))),
    ("matmul 2x3", lambda m, a, b: a @ b, ((2, 3), (5, 3, 4))),
    ("matmul 3x3", lambda m, a, b: a @ b, ((5, 2, 3), (5, 3, 4))),
    ("matmul broadcast", lambda m, a, b: a @ b, ((2, 1, 2, 3), (3, 3, 2))),
    ("matmul of nothing", lambda m, a, b: a @ b, ((0, 3), (3, 2))),
    ("matmul over nothing", lambda m, a, b: a @ b, ((2, 0), (0, 3))),
    ("addmm", lambda m, c, a, b: m.addmm(c, a, b), ((2,), (3, 4), (4, 2))),
    ("addmm scaled", lambda m, c, a, b: m.addmm(c, a, b, beta=0.5, alpha=2), ((3, 2), (3, 4), (4, 2))),
    ("addmv", lambda m, c, a, b: m.addmv(c, a, b, beta=2, alpha=3), ((3,), (3, 4), (4,))),
    ("addr", lambda m, c, a, b: m.addr(c, a, b, beta=2, alpha=3), ((3, 4), (3,), (4,))),
    ("baddbmm", lambda m, c, a, b: m.baddbmm(c, a, b, beta=2, alpha=3), ((5, 2, 4), (5, 2, 3), (5, 3, 4))),
    ("addbmm", lambda m, c, a, b: m.addbmm(c, a, b, beta=2, alpha=3), ((2, 4), (5, 2, 3), (5, 3, 4))),
    ("chain_matmul", lambda m, a, b, c: m.chain_matmul(a, b, c), ((2, 3), (3, 4), (4, 2))),
    ("tensordot", lambda m, a, b: m.tensordot(a, b), ((2, 3, 4), (3, 4, 2))),
    ("tensordot dims", lambda m, a, b: m.tensordot(a, b, dims=([1], [0])), ((2, 3, 4), (3, 2))),
    ("tensordot of none", lambda m, a, b: m.tensordot(a, b, dims=0), ((2, 3), (2,))),
    ("kron", lambda m, a, b: m.kron(a, b), ((2, 2), (3,))),
    ("cross", lambda m, a, b: m.cross(a, b, dim=1), ((2, 3), (2, 3))),
    ("einsum mm", lambda m, a, b: m.einsum("ij,jk->ik", a, b), ((2, 3), (3, 4))),
    ("einsum implicit", lambda m, a, b: m.einsum("ij,jk", a, b), ((2, 3), (3, 4))),
    ("einsum trace", lambda m, a: m.einsum("ii", a), ((3, 3),)),
    ("einsum diagonal", lambda m, a: m.einsum("ii->i", a), ((3, 3),)),
    ("einsum transposed", lambda m, a: m.einsum("ijk->kji", a), ((2, 3, 4),)),
    ("einsum elementwise", lambda m, a, b: m.einsum("i,i->i", a, b), ((3,), (3,))),
    ("einsum batch", lambda m, a, b: m.einsum("...ij,...jk->...ik", a, b), ((5, 2, 3), (5, 3, 4))),
    ("einsum broadcast", lambda m, a, b: m.einsum("...i,i...->...", a, b), ((5, 1, 3), (3, 4))),
    ("einsum three", lambda m, a, b, c: m.einsum("ij,jk,kl->il", a, b, c), ((2, 3), (3, 4), (4, 2))),
    ("einsum summed", lambda m, a, b: m.einsum("ij,kl->j", a, b), ((2, 3), (3, 4))),
    ("einsum of ones", lambda m, a, b: m.einsum("ij,ij->i", a, b), ((2, 1), (2, 3))),
    ("einsum lists", lambda m, a, b: m.einsum(a, [0, 1], b, [1, 2], [0, 2]), ((2, 3), (3, 4))),
    ("linear", lambda m, x, w, b: m.nn.functional.linear(x, w, b), ((5, 3), (4, 3), (4,))),
    ("linear no bias", lambda m, x, w: m.nn.functional.linear(x, w), ((5, 3), (4, 3))),
    ("linear 3d", lambda m, x, w, b: m.nn.functional.linear(x, w, b), ((2, 5, 3), (4, 3), (4,))),
    ("linear 3d no bias", lambda m, x, w: m.nn.functional.linear(x, w), ((2, 5, 3), (4, 3))),
    ("linear 1d", lambda m, x, w, b: m.nn.functional.linear(x, w, b), ((3,), (4, 3), (4,))),
    ("linear 1d no bias", lambda m, x, w: m.nn.functional.linear(x, w), ((3,), (4, 3))),
    ("bilinear", lambda m, *args: m.nn.functional.bilinear(*args), ((5, 2), (5, 3), (4, 2, 3), (4,))),
]


def _f(name: str, **kw: Any) -> Any:
    return lambda m, *args: getattr(m.nn.functional, name)(*args, **kw)


CONVOLUTIONS: list[Case] = [
    ("conv1d", _f("conv1d"), ((2, 3, 7), (4, 3, 3), (4,))),
    ("conv1d strided", _f("conv1d", stride=2, padding=1), ((2, 3, 7), (4, 3, 3))),
    ("conv1d same", _f("conv1d", padding="same"), ((2, 3, 7), (4, 3, 3))),
    ("conv1d same even", _f("conv1d", padding="same"), ((1, 2, 5), (2, 2, 2))),
    ("conv1d unbatched", _f("conv1d"), ((3, 7), (4, 3, 3), (4,))),
    ("conv2d", _f("conv2d"), ((2, 3, 5, 4), (2, 3, 3, 2), (2,))),
    (
        "conv2d geometry",
        _f("conv2d", stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
        ((2, 2, 5, 6), (2, 2, 3, 2), (2,)),
    ),
    ("conv2d groups", _f("conv2d", groups=2), ((2, 4, 4, 4), (4, 2, 3, 3), (4,))),
    ("conv2d depthwise", _f("conv2d", groups=4), ((1, 4, 4, 4), (4, 1, 3, 3))),
    ("conv2d valid", _f("conv2d", padding="valid"), ((1, 2, 4, 4), (2, 2, 3, 3))),
    ("conv3d", _f("conv3d"), ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), (2,))),
    ("conv_transpose1d", _f("conv_transpose1d", stride=2, output_padding=1), ((2, 3, 4), (3, 2, 3), (2,))),
    ("conv_transpose2d", _f("conv_transpose2d", stride=2, padding=1), ((1, 2, 3, 3), (2, 2, 3, 3), (2,))),
    ("conv_transpose2d groups", _f("conv_transpose2d", groups=2, dilation=2), ((1, 4, 3, 3), (4, 1, 2, 2))),
    ("unfold", _f("unfold", kernel_size=2, padding=1, stride=2), ((1, 2, 4, 4),)),
    ("fold", _f("fold", output_size=(4, 4), kernel_size=2), ((1, 8, 9),)),
    ("pixel_shuffle", _f("pixel_shuffle", upscale_factor=2), ((1, 4, 2, 3),)),
    ("pixel_unshuffle", _f("pixel_unshuffle", downscale_factor=2), ((1, 1, 4, 6),)),
    ("channel_shuffle", _f("channel_shuffle", groups=2), ((1, 6, 2, 2),)),
]

POOLS: list[Case] = [
    ("max_pool1d", _f("max_pool1d", kernel_size=2), (apart(2, 3, 7),)),
    ("max_pool1d overlap", _f("max_pool1d", kernel_size=3, stride=1, padding=1), (apart(2, 3, 7),)),
    ("max_pool2d", _f("max_pool2d", kernel_size=2), (apart(2, 2, 5, 4),)),
    (
        "max_pool2d geometry",
        _f("max_pool2d", kernel_size=(3, 2), stride=1, padding=(1, 0), dilation=(1, 2)),
        (apart(1, 2, 5, 6),),
    ),
    ("max_pool2d ceil", _f("max_pool2d", kernel_size=2, ceil_mode=True), (apart(1, 1, 5, 5),)),
    ("max_pool2d unbatched", _f("max_pool2d", kernel_size=2), (apart(2, 4, 4),)),
    ("max_pool3d", _f("max_pool3d", kernel_size=2), (apart(1, 1, 4, 4, 2),)),
    ("avg_pool1d", _f("avg_pool1d", kernel_size=2), ((2, 3, 7),)),
    ("avg_pool2d", _f("avg_pool2d", kernel_size=2, stride=1), ((2, 2, 4, 4),)),
    ("avg_pool2d padded", _f("avg_pool2d", kernel_size=3, padding=1), ((1, 2, 5, 5),)),
    ("avg_pool2d uncounted", _f("avg_pool2d", kernel_size=3, padding=1, count_include_pad=False), ((1, 2, 5, 5),)),
    ("avg_pool2d ceil", _f("avg_pool2d", kernel_size=2, padding=1, ceil_mode=True), ((1, 2, 4, 5),)),
    ("avg_pool2d divisor", _f("avg_pool2d", kernel_size=2, divisor_override=3), ((1, 2, 4, 4),)),
    ("avg_pool3d", _f("avg_pool3d", kernel_size=2), ((1, 1, 4, 4, 2),)),
    ("adaptive_avg_pool1d", _f("adaptive_avg_pool1d", output_size=3), ((2, 3, 7),)),
    ("adaptive_avg_pool2d", _f("adaptive_avg_pool2d", output_size=(2, 3)), ((1, 2, 5, 7),)),
    ("adaptive_avg_pool2d to one", _f("adaptive_avg_pool2d", output_size=1), ((1, 2, 5, 7),)),
    ("adaptive_max_pool1d", _f("adaptive_max_pool1d", output_size=3), (apart(2, 3, 7),)),
    ("adaptive_max_pool2d", _f("adaptive_max_pool2d", output_size=(2, None)), (apart(1, 2, 5, 3),)),
    ("lp_pool1d", _f("lp_pool1d", norm_type=2, kernel_size=2), (positive(1, 2, 6),)),
    ("lp_pool2d", _f("lp_pool2d", norm_type=3, kernel_size=2), (positive(1, 2, 4, 4),)),
    ("interpolate nearest", _f("interpolate", scale_factor=2), ((1, 2, 3, 2),)),
    ("interpolate nearest size", _f("interpolate", size=(5, 3)), ((1, 2, 4, 4),)),
    ("interpolate exact", _f("interpolate", size=5, mode="nearest-exact"), ((1, 2, 4),)),
    ("interpolate linear", _f("interpolate", size=5, mode="linear"), ((1, 2, 3),)),
    ("interpolate bilinear", _f("interpolate", scale_factor=1.5, mode="bilinear"), ((1, 2, 4, 3),)),
    ("interpolate aligned", _f("interpolate", size=(5, 6), mode="bilinear", align_corners=True), ((1, 2, 3, 4),)),
    ("interpolate bicubic", _f("interpolate", size=(5, 6), mode="bicubic"), ((1, 1, 4, 4),)),
    ("interpolate trilinear", _f("interpolate", size=(3, 3, 3), mode="trilinear"), ((1, 1, 2, 2, 2),)),
    ("interpolate area", _f("interpolate", size=(2, 3), mode="area"), ((1, 1, 4, 5),)),
    ("pad", _f("pad", pad=(1, 2, 0, 1)), ((2, 3),)),
    ("pad value", _f("pad", pad=(1, 2), value=3.0), ((2, 3),)),
    ("pad cut", _f("pad", pad=(-1, 2, 1, -1)), ((3, 3),)),
    ("pad reflect", _f("pad", pad=(2, 1), mode="reflect"), ((1, 2, 4),)),
    ("pad reflect 2d", _f("pad", pad=(2, 1, 1, 1), mode="reflect"), ((1, 2, 3, 4),)),
    ("pad replicate", _f("pad", pad=(2, 1, 0, 3), mode="replicate"), ((1, 2, 3, 4),)),
    ("pad circular", _f("pad", pad=(2, 1), mode="circular"), ((1, 2, 4),)),
]


def well(*shape: int) -> Any:
    """Well conditioned square matrices."""
    return lambda random: random.standard_normal(shape) * 0.3 + 2 * np.eye(shape[-1])


def symmetric(x: Any) -> Any:
    """A symmetric matrix with eigenvalues far apart, from any."""
    return x + x.transpose(-1, -2)


def definite(x: Any) -> Any:
    """A positive definite matrix, from any."""
    return x @ x.transpose(-1, -2)


LINEAR_ALGEBRA: list[Case] = [
    ("inv", lambda m, a: m.linalg.inv(a), (well(3, 3),)),
    ("inv batch", lambda m, a: m.linalg.inv(a), (well(2, 3, 3),)),
    ("inverse method", lambda m, a: a.inverse(), (well(3, 3),)),
    ("solve", lambda m, a, b: m.linalg.solve(a, b), (well(3, 3), (3, 2))),
    ("solve vector", lambda m, a, b: m.linalg.solve(a, b), (well(3, 3), (3,))),
    ("solve batch", lambda m, a, b: m.linalg.solve(a, b), (well(2, 3, 3), (2, 3, 2))),
    ("solve batch of vectors", lambda m, a, b: m.linalg.solve(a, b), (well(2, 3, 3), (2, 3))),
    ("solve broadcast", lambda m, a, b: m.linalg.solve(a, b), (well(3, 3), (2, 3, 2))),
    ("solve right", lambda m, a, b: m.linalg.solve(a, b, left=False), (well(3, 3), (2, 3))),
    ("solve_triangular", lambda m, a, b: m.linalg.solve_triangular(a, b, upper=True), (well(3, 3), (3, 2))),
    (
        "solve_triangular lower unit right",
        lambda m, a, b: m.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        (well(3, 3), (2, 3)),
    ),
    ("det", lambda m, a: m.linalg.det(a), (well(3, 3),)),
    ("det batch", lambda m, a: m.det(a), (well(2, 3, 3),)),
    ("slogdet", lambda m, a: m.linalg.slogdet(a).logabsdet, (well(2, 3, 3),)),
    ("logdet", lambda m, a: m.logdet(a), (well(3, 3),)),
    ("cholesky", lambda m, a: m.linalg.cholesky(definite(a)), (well(3, 3),)),
    ("cholesky upper", lambda m, a: m.linalg.cholesky(definite(a), upper=True), (well(2, 3, 3),)),
    ("cholesky_solve", lambda m, b, a: m.cholesky_solve(b, a.tril()), ((3, 2), well(3, 3))),
    ("cholesky_inverse", lambda m, a: m.cholesky_inverse(a.tril()), (well(3, 3),)),
    ("qr", lambda m, a: m.linalg.qr(a)[0].abs() + m.linalg.qr(a)[1].abs().sum(), (well(3, 3),)),
    ("qr tall", lambda m, a: m.linalg.qr(a)[0].abs(), ((4, 2),)),
    ("qr r", lambda m, a: m.linalg.qr(a)[1].abs(), ((4, 2),)),
    ("qr wide", lambda m, a: m.linalg.qr(a)[1].abs(), ((2, 4),)),
    ("svdvals", lambda m, a: m.linalg.svdvals(a), ((3, 4),)),
    ("svd u", lambda m, a: m.linalg.svd(a, full_matrices=False)[0].abs(), ((4, 3),)),
    ("svd v", lambda m, a: m.linalg.svd(a, full_matrices=False)[2].abs(), ((3, 4),)),
    ("svd square", lambda m, a: m.linalg.svd(a)[0].abs() @ m.linalg.svd(a)[2].abs(), (well(3, 3),)),
    ("eigvalsh", lambda m, a: m.linalg.eigvalsh(symmetric(a)), ((3, 3),)),
    ("eigh", lambda m, a: m.linalg.eigh(symmetric(a))[1].abs(), ((2, 3, 3),)),
    ("eigvals", lambda m, a: m.linalg.eigvals(a).abs().sum(), (well(3, 3),)),
    ("pinv", lambda m, a: m.linalg.pinv(a), ((4, 2),)),
    ("pinv wide", lambda m, a: m.linalg.pinv(a), ((2, 2, 4),)),
    ("matrix_power", lambda m, a: m.linalg.matrix_power(a, 3), (well(3, 3),)),
    ("matrix_power negative", lambda m, a: m.linalg.matrix_power(a, -2), (well(3, 3),)),
    ("matrix_exp", lambda m, a: m.linalg.matrix_exp(a), ((3, 3),)),
    ("matrix_exp batch", lambda m, a: m.matrix_exp(a * 5), ((2, 2, 2),)),
    ("multi_dot", lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), ((3,), (3, 4), (4, 2))),
    ("lstsq", lambda m, a, b: m.linalg.lstsq(a, b).solution, ((4, 2), (4, 3))),
    ("norm", lambda m, a: m.linalg.norm(a), ((3, 2),)),
    ("norm 3", lambda m, a: m.linalg.norm(a, 3.0), ((4,),)),
    ("norm 2 of matrix", lambda m, a: m.linalg.norm(a, 2), ((3, 2),)),
    ("norm nuclear", lambda m, a: m.linalg.norm(a, "nuc"), ((3, 2),)),
    ("norm inf of matrix", lambda m, a: m.linalg.norm(a, float("inf")), ((3, 2),)),
    ("matrix_norm", lambda m, a: m.linalg.matrix_norm(a, 1), ((2, 3, 2),)),
    ("matrix_norm kept", lambda m, a: m.linalg.matrix_norm(a, -2, dim=(0, 2), keepdim=True), ((3, 2, 2),)),
    ("vector_norm", lambda m, a: m.linalg.vector_norm(a, 3, dim=1), ((3, 2),)),
    ("cond", lambda m, a: m.linalg.cond(a), (well(3, 3),)),
    ("linalg cross", lambda m, a, b: m.linalg.cross(a, b), ((2, 3), (2, 3))),
    ("vecdot", lambda m, a, b: m.linalg.vecdot(a, b), ((2, 3), (2, 3))),
    ("tensorinv", lambda m, a: m.linalg.tensorinv(a.reshape(2, 2, 4), 2), (well(4, 4),)),
    ("tensorsolve", lambda m, a, b: m.linalg.tensorsolve(a.reshape(2, 2, 4), b), (well(4, 4), (2, 2))),
]

ZEROS, ONES = Fixed(np.zeros(3)), Fixed(np.ones(3) * 2)

NORMS: list[Case] = [
    ("batch_norm", lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, True), ((4, 3), (3,), (3,))),
    (
        "batch_norm 2d",
        lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, True),
        ((2, 3, 2, 2), (3,), (3,)),
    ),
    ("batch_norm plain", lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True), ((4, 3, 2),)),
    (
        "batch_norm fixed",
        lambda m, x, w, b, mean, var: m.nn.functional.batch_norm(x, mean, var, w, b, False),
        ((4, 3, 2), (3,), (3,), ZEROS, ONES),
    ),
    ("layer_norm", lambda m, x, w, b: m.nn.functional.layer_norm(x, (3,), w, b), ((4, 3), (3,), (3,))),
    ("layer_norm 2d", lambda m, x, w, b: m.nn.functional.layer_norm(x, (3, 2), w, b), ((2, 3, 2), (3, 2), (3, 2))),
    ("layer_norm of one", lambda m, x, w: m.nn.functional.layer_norm(x, (3,), w), ((1, 1, 3), (3,))),
    ("layer_norm plain", lambda m, x: m.nn.functional.layer_norm(x, (3,)), ((3,),)),
    ("group_norm", lambda m, x, w, b: m.nn.functional.group_norm(x, 2, w, b), ((2, 4, 3), (4,), (4,))),
    ("instance_norm", lambda m, x, w, b: m.nn.functional.instance_norm(x, weight=w, bias=b), ((2, 3, 4), (3,), (3,))),
    ("rms_norm", lambda m, x, w: m.nn.functional.rms_norm(x, (3,), w, 1e-5), ((4, 3), (3,))),
    ("local_response_norm", _f("local_response_norm", size=2), ((2, 3, 4),)),
    ("normalize", _f("normalize"), ((4, 3),)),
    ("normalize p", _f("normalize", p=3.0, dim=0), ((4, 3),)),
    ("cosine_similarity", _f("cosine_similarity"), ((4, 3), (4, 3))),
    ("pairwise_distance", _f("pairwise_distance"), ((4, 3), (4, 3))),
    ("cdist", lambda m, a, b: m.cdist(a, b), ((4, 3), (2, 3))),
    ("cdist p 3", lambda m, a, b: m.cdist(a, b, p=3.0), ((2, 4, 3), (2, 3))),
    ("pdist", _f("pdist"), ((4, 3),)),
    ("embedding", lambda m, w, i: m.nn.functional.embedding(i, w), ((4, 2), CLASSES)),
    *(
        (
            f"embedding_bag {mode}",
            lambda m, w, i, o, mode=mode: m.nn.functional.embedding_bag(i, w, o, mode=mode),
            (apart(4, 2), CLASSES, np.array([0, 2, 2, 3])),
        )
        for mode in ("sum", "mean", "max")
    ),
    (
        "embedding_bag 2d",
        lambda m, w, i: m.nn.functional.embedding_bag(i, w, mode="mean", padding_idx=1),
        ((4, 2), CLASSES[:4].reshape(2, 2)),
    ),
    (
        "embedding_bag weighted",
        lambda m, w, p, i, o: m.nn.functional.embedding_bag(i, w, o, mode="sum", per_sample_weights=p),
        ((4, 2), (5,), CLASSES, np.array([0, 2])),
    ),
    ("attention", _f("scaled_dot_product_attention"), ((2, 3, 4), (2, 5, 4), (2, 5, 4))),
    ("attention causal", _f("scaled_dot_product_attention", is_causal=True), ((2, 3, 4), (2, 3, 4), (2, 3, 4))),
    (
        "attention masked",
        lambda m, q, k, v, mask: m.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        ((2, 3, 4), (2, 3, 4), (2, 3, 4), Fixed(np.tri(3, dtype=bool))),
    ),
]

# Gradients that are not the derivatives of the values, on purpose: for the comparison with PyTorch only.
ADJUSTED: list[Case] = [
    ("embedding padding", lambda m, w, i: m.nn.functional.embedding(i, w, padding_idx=1), ((4, 2), CLASSES)),
    ("embedding scaled", lambda m, w, i: m.nn.functional.embedding(i, w, scale_grad_by_freq=True), ((4, 2), CLASSES)),
]

ACTIVATIONS: list[Case] = [
    (name, _f(name, **kw), (apart(3, 4),))
    for name, kw in (
        ("relu", {}),
        ("relu6", {}),
        ("elu", {"alpha": 0.7}),
        ("selu", {}),
        ("celu", {"alpha": 1.3}),
        ("leaky_relu", {"negative_slope": 0.2}),
        ("gelu", {}),
        ("gelu", {"approximate": "tanh"}),
        ("silu", {}),
        ("mish", {}),
        ("hardswish", {}),
        ("hardsigmoid", {}),
        ("hardtanh", {}),
        ("softplus", {"beta": 2.0}),
        ("softsign", {}),
        ("softshrink", {}),
        ("hardshrink", {}),
        ("tanhshrink", {}),
        ("logsigmoid", {}),
        ("threshold", {"threshold": 0.1, "value": 20.0}),
        ("glu", {}),
        ("glu", {"dim": 1}),
        ("softmin", {"dim": 1}),
        ("softmax", {"dim": 0}),
        ("log_softmax", {"dim": 1}),
        ("sigmoid", {}),
        ("tanh", {}),
        ("rrelu", {}),
    )
    if not (name == "glu" and not kw)
] + [("prelu", _f("prelu"), (apart(2, 3, 2), positive(3))), ("prelu one", _f("prelu"), (apart(2, 3), positive(1)))]


def _loss(name: str, inputs: tuple[Any, ...], **kw: Any) -> list[Case]:
    return [(f"{name} {kw} {how}", _f(name, reduction=how, **kw), inputs) for how in ("mean", "sum", "none")]


SIGNS = Fixed([1.0, -1.0, 1.0, -1.0, 1.0])

LOSSES: list[Case] = [
    *_loss("mse_loss", ((4, 3), (4, 3))),
    *_loss("l1_loss", (apart(4, 3), Fixed(np.zeros((4, 3))))),
    *_loss("smooth_l1_loss", (apart(4, 3), Fixed(np.zeros((4, 3)))), beta=0.5),
    *_loss("huber_loss", (apart(4, 3), Fixed(np.zeros((4, 3)))), delta=0.5),
    *_loss("cross_entropy", ((5, 3), CLASSES)),
    *_loss("cross_entropy", ((5, 3), CLASSES), ignore_index=1),
    *_loss("cross_entropy", ((5, 3), CLASSES), label_smoothing=0.2, ignore_index=1),
    *_loss("cross_entropy", ((5, 3), positive(5, 3))),
    *_loss("cross_entropy", ((5, 3), positive(5, 3)), label_smoothing=0.2),
    *_loss("cross_entropy", ((2, 3, 2, 2), IMAGE_CLASSES)),
    *_loss("cross_entropy", ((3,), np.array(1))),
    *_loss("nll_loss", ((5, 3), CLASSES)),
    *_loss("nll_loss", ((2, 3, 2, 2), IMAGE_CLASSES)),
    *_loss("binary_cross_entropy", (positive(4, 3), positive(4, 3))),
    *_loss("binary_cross_entropy_with_logits", ((4, 3), positive(4, 3))),
    *_loss("kl_div", ((4, 3), positive(4, 3))),
    *_loss("kl_div", ((4, 3), (4, 3)), log_target=True),
    *_loss("hinge_embedding_loss", (apart(5), SIGNS)),
    *_loss("margin_ranking_loss", (apart(5), Fixed(np.zeros(5)), SIGNS)),
    *_loss("cosine_embedding_loss", ((5, 3), (5, 3), SIGNS), margin=-1.5),
    *_loss("triplet_margin_loss", ((5, 3), (5, 3), (5, 3)), margin=5.0),
    *_loss("triplet_margin_loss", ((5, 3), (5, 3), (5, 3)), margin=5.0, swap=True),
    *_loss("soft_margin_loss", ((5,), SIGNS)),
    *_loss("multi_margin_loss", (apart(5, 3), CLASSES), margin=0.9),
    *_loss("multi_margin_loss", (apart(5, 3), CLASSES), p=2, margin=0.9),
    *_loss("multilabel_margin_loss", (apart(2, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 0]]))),
    *_loss("multilabel_soft_margin_loss", ((5, 3), positive(5, 3))),
    *_loss("poisson_nll_loss", ((4, 3), positive(4, 3))),
    *_loss("poisson_nll_loss", (positive(4, 3), Fixed(np.arange(12.0).reshape(4, 3))), log_input=False, full=True),
    *_loss("gaussian_nll_loss", ((4, 3), (4, 3), positive(4, 3)), full=True),
    (
        "cross_entropy weighted",
        lambda m, x, t, w: m.nn.functional.cross_entropy(x, t, w),
        ((5, 3), CLASSES, Fixed([0.3, 1.0, 2.0])),
    ),
    (
        "cross_entropy weighted smoothed",
        lambda m, x, t, w: m.nn.functional.cross_entropy(x, t, w, label_smoothing=0.1),
        ((5, 3), CLASSES, Fixed([0.3, 1.0, 2.0])),
    ),
    (
        "cross_entropy of probabilities weighted",
        lambda m, x, t, w: m.nn.functional.cross_entropy(x, t, w),
        ((5, 3), positive(5, 3), Fixed([0.3, 1.0, 2.0])),
    ),
    (
        "nll_loss weighted",
        lambda m, x, t, w: m.nn.functional.nll_loss(x, t, w, reduction="none"),
        ((5, 3), CLASSES, Fixed([0.3, 1.0, 2.0])),
    ),
    (
        "bce weighted",
        lambda m, x, t, w: m.nn.functional.binary_cross_entropy(x, t, w),
        (positive(4, 3), positive(4, 3), Fixed([0.3, 1.0, 2.0])),
    ),
    (
        "bce logits weighted",
        lambda m, x, t, w, p: m.nn.functional.binary_cross_entropy_with_logits(x, t, w, pos_weight=p),
        ((4, 3), positive(4, 3), Fixed([0.3, 1.0, 2.0]), Fixed([2.0, 1.0, 0.5])),
    ),
    ("kl_div batchmean", _f("kl_div", reduction="batchmean"), ((4, 3), positive(4, 3))),
    ("mse broadcast", _f("mse_loss"), ((4, 3), (3,))),
]


def arrays(inputs: tuple[Any, ...], seed: int = 0) -> list[Any]:
    """The inputs of a case as arrays, or as `Fixed` ones."""
    random = np.random.default_rng(seed)
    made = []
    for each in inputs:
        if isinstance(each, tuple):
            made.append(random.standard_normal(each))
        elif isinstance(each, (np.ndarray, Fixed)):
            made.append(each)
        else:
            made.append(each(random))
    return made


def tensors(m: Any, found: list[Any]) -> list[Any]:
    """Tensors of module `m` around arrays; those of random numbers need a gradient."""
    made = []
    for each in found:
        array = each.array if isinstance(each, Fixed) else each
        tensor = m.tensor(array.tolist(), dtype=m.float64) if array.dtype.kind == "f" else m.tensor(array.tolist())
        if array.dtype.kind == "f":
            tensor = tensor.reshape(tuple(array.shape)).clone()
        if array.dtype.kind == "f" and not isinstance(each, Fixed):
            tensor = tensor.detach().requires_grad_()
        made.append(tensor)
    return made
