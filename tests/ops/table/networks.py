"""Layers and losses of networks."""



from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
import mpigrad.nn.functional as F
from tests.ops.table.case import Case, Input, const, of, real


def networks() -> Iterator[Case]:
    """Layers and losses."""
    i = mpigrad.tensor
    table: dict[str, tuple[Callable[..., Any], tuple[Input, ...]]] = {
        "conv1d": (lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), (real(1, 2, 4), real(2, 2, 3), real(2))),
        "conv2d": (lambda x, w, b: F.conv2d(x, w, b), (real(1, 2, 3, 3), real(2, 2, 2, 2), real(2))),
        "conv2d all": (
            lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2, groups=2),
            (real(1, 2, 4, 4), real(2, 1, 2, 2)),
        ),
        "conv3d": (F.conv3d, (real(1, 1, 2, 2, 2), real(1, 1, 2, 1, 2))),
        "conv_transpose1d": (
            lambda x, w: F.conv_transpose1d(x, w, stride=2, output_padding=1),
            (real(1, 2, 2), real(2, 1, 2)),
        ),
        "conv_transpose2d": (
            lambda x, w, b: F.conv_transpose2d(x, w, b, padding=1),
            (real(1, 1, 2, 2), real(1, 2, 3, 3), real(2)),
        ),
        "conv_transpose1d with room for more windows": (
            lambda x, w: F.conv_transpose1d(x, w, stride=2, dilation=3, output_padding=2),
            (real(1, 2, 3), real(2, 1, 2)),
        ),
        "pad circular, cut": (lambda x: F.pad(x, (-1, 2), "circular"), (real(1, 1, 5),)),
        "cosine_similarity, broadcast": (
            lambda x, y: F.cosine_similarity(x, y, dim=-2), (real(1, 2, 3), real(2, 1, 3)),
        ),
        "conv2d of no images": (lambda x, w, b: F.conv2d(x, w, b), (real(0, 2, 3, 3), real(2, 2, 2, 2), real(2))),
        "avg_pool2d of no images": (lambda x: F.avg_pool2d(x, 2), (real(0, 1, 4, 4),)),
        "layer_norm of no rows": (lambda x, w: F.layer_norm(x, (3,), w), (real(0, 3), real(3))),
        "max_pool1d": (lambda x: F.max_pool1d(x, 2), (of("apart", 1, 2, 4),)),
        "max_pool2d": (lambda x: F.max_pool2d(x, 2, stride=1, padding=1), (of("apart", 1, 1, 3, 3),)),
        "max_pool3d": (lambda x: F.max_pool3d(x, 2), (of("apart", 1, 1, 2, 2, 4),)),
        "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), (real(1, 2, 4),)),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, stride=1, padding=1, count_include_pad=False), (real(1, 1, 3, 3),)),
        "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (real(1, 1, 2, 2, 2),)),
        "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 2), (real(1, 1, 5),)),
        "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 1)), (real(1, 1, 3, 2),)),
        "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (1, 2, 1)), (real(1, 1, 2, 3, 2),)),
        "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), (of("apart", 1, 1, 5),)),
        "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), (of("apart", 1, 1, 3, 3),)),
        "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 1), (of("apart", 1, 1, 2, 2, 2),)),
        "lp_pool1d": (lambda x: F.lp_pool1d(x, 2, 2), (of("positive", 1, 1, 4),)),
        "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), (of("positive", 1, 1, 2, 4),)),
        "batch_norm": (
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
            (real(4, 2), real(2), real(2)),
        ),
        "batch_norm evaluating": (
            lambda x, w, b: F.batch_norm(x, mpigrad.zeros(2, dtype=x.dtype), mpigrad.ones(2, dtype=x.dtype), w, b),
            (real(3, 2, 2), real(2), real(2)),
        ),
        "layer_norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), (real(2, 3), real(3), real(3))),
        "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (real(2, 4, 2), real(4), real(4))),
        "instance_norm": (F.instance_norm, (real(1, 2, 4),)),
        "rms_norm": (lambda x, w: F.rms_norm(x, (3,), w), (real(2, 3), real(3))),
        "local_response_norm": (lambda x: F.local_response_norm(x, 2), (real(1, 3, 2),)),
        "pad": (lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), (real(2, 2),)),
        "pad negative": (lambda x: F.pad(x, (-1, 1)), (real(2, 3),)),
        "unfold": (lambda x: F.unfold(x, 2), (real(1, 1, 3, 3),)),
        "fold": (lambda x: F.fold(x, (3, 3), 2), (real(1, 4, 4),)),
        "ctc_loss": (
            lambda x: F.ctc_loss(x.log_softmax(2), i([[1, 2], [2, 2]]), i([4, 4]), i([2, 1])),
            (real(4, 2, 3),),
        ),
        "dropout off": (lambda x: F.dropout(x, 0.5, training=False), (real(2, 3),)),
        "prelu": (F.prelu, (real(2, 3, 1), real(3))),
        "rrelu": (lambda x: F.rrelu(x, 0.3, 0.3, training=False), (real(2, 3),)),
        "attention": (F.scaled_dot_product_attention, (real(2, 2, 2), real(2, 3, 2), real(2, 3, 2))),
        "cross_entropy": (lambda x: F.cross_entropy(x, i([0, 2])), (real(2, 3),)),
        "cross_entropy all": (
            lambda x: F.cross_entropy(
                x, i([0, 2, -100]), mpigrad.tensor([1.0, 2.0, 3.0], dtype=x.dtype), label_smoothing=0.1
            ),
            (real(3, 3),),
        ),
        "cross_entropy with probabilities": (lambda x, y: F.cross_entropy(x, y), (real(2, 3), of("probability", 2, 3))),
        "nll_loss": (lambda x: F.nll_loss(x, i([0, 2]), reduction="sum"), (real(2, 3),)),
        "nll_loss2d": (lambda x: F.nll_loss(x, i([[[0, 2]]])), (real(1, 3, 1, 2),)),
        "gaussian_nll_loss": (F.gaussian_nll_loss, (real(3), const(3), of("positive", 3))),
        "poisson_nll_loss": (lambda x, y: F.poisson_nll_loss(x, y), (real(3), const(3, kind="positive"))),
        "hinge_embedding_loss": (F.hinge_embedding_loss, (of("unit", 4), const(4, kind="signs"))),
        "margin_ranking_loss": (
            lambda a, b, y: F.margin_ranking_loss(a, b, y, margin=0.2),
            (of("apart", 3), of("unit", 3), const(3, kind="signs")),
        ),
        "cosine_embedding_loss": (F.cosine_embedding_loss, (real(3, 2), real(3, 2), const(3, kind="signs"))),
        "triplet_margin_loss": (F.triplet_margin_loss, (real(2, 3), real(2, 3), real(2, 3))),
        "multi_margin_loss": (lambda x: F.multi_margin_loss(x, i([0, 2])), (of("unit", 2, 3),)),
        "multilabel_margin_loss": (
            lambda x: F.multilabel_margin_loss(x, i([[0, 2, -1], [1, -1, -1]])),
            (of("unit", 2, 3),),
        ),
        "multilabel_soft_margin_loss": (F.multilabel_soft_margin_loss, (real(2, 3), const(2, 3, kind="probability"))),
        "soft_margin_loss": (F.soft_margin_loss, (real(3), const(3, kind="signs"))),
    }
    for name, (function, inputs) in table.items():
        yield Case(name, function, inputs, second=name != "ctc_loss")
    for loss in (
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "kl_div",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
    ):
        for reduction in ("mean", "sum", "none"):
            first = "probability" if loss == "binary_cross_entropy" else "apart" if loss == "l1_loss" else "real"
            yield Case(
                f"{loss} {reduction}",
                lambda x, y, loss=loss, reduction=reduction: getattr(F, loss)(x, y, reduction=reduction),
                (of(first, 2, 3), of("probability", 2, 3)),
            )
    for mode, shape in (("circular", (1, 1, 4)), ("reflect", (1, 1, 4)), ("replicate", (1, 1, 4))):
        yield Case(f"pad {mode} 1d", lambda x, mode=mode: F.pad(x, (1, 2), mode=mode), (Input(shape),))
        yield Case(f"pad {mode} 2d", lambda x, mode=mode: F.pad(x, (1, 1, 0, 1), mode=mode), (real(1, 1, 2, 3),))
        yield Case(
            f"pad {mode} 3d", lambda x, mode=mode: F.pad(x, (1, 0, 0, 1, 1, 0), mode=mode), (real(1, 1, 2, 2, 2),)
        )
    for mode, dims in (
        ("nearest", 1),
        ("nearest", 2),
        ("nearest", 3),
        ("nearest-exact", 1),
        ("nearest-exact", 2),
        ("nearest-exact", 3),
    ):
        yield Case(
            f"interpolate {mode} {dims}d",
            lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
            (Input((1, 1) + (2,) * dims),),
        )
    for mode, dims in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)):
        yield Case(
            f"interpolate {mode}",
            lambda x, mode=mode: F.interpolate(x, scale_factor=1.5, mode=mode),
            (Input((1, 1) + (2,) * dims),),
        )
    yield from _grids()


def _grids() -> Iterator[Case]:
    places = of("unit", 1, 2, 2, 2)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            yield Case(
                f"grid_sample {mode} {padding}",
                lambda x, at, how=(mode, padding): F.grid_sample(x, at, *how, align_corners=False),
                (real(1, 2, 3, 3), places),
                second=mode == "bilinear",
                single=False,
            )
    yield Case(
        "grid_sample of volumes",
        lambda x, at: F.grid_sample(x, at, align_corners=True),
        (real(1, 1, 2, 2, 2), of("unit", 1, 1, 2, 2, 3)),
    )
    yield Case("affine_grid", lambda theta: F.affine_grid(theta, (2, 1, 2, 2), align_corners=False), (real(2, 2, 3),))
