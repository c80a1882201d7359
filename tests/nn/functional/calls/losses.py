"""Calls of losses: invalid ones with the error that they must raise, valid ones with their node."""

from __future__ import annotations

from typing import Any

from .inputs import CLASSES, t

BAD: list[tuple[Any, type[Exception], str]] = [
    (
        lambda m: m.nn.functional.mse_loss(t(m, 5, 3), t(m, 5, 2)),
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1",
    ),
    (
        lambda m: m.nn.functional.smooth_l1_loss(t(m, 5), t(m, 5), beta=-1.0),
        RuntimeError,
        "smooth_l1_loss does not support negative values for beta.",
    ),
    (
        lambda m: m.nn.functional.huber_loss(t(m, 5), t(m, 5), delta=0),
        RuntimeError,
        "huber_loss does not support non-positive values for delta.",
    ),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), m.tensor([0, 1, 2, 3, 9])),
        IndexError,
        "Target 3 is out of bounds.",
    ),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), m.tensor([0, 1, 2, 3])),
        ValueError,
        "Expected input batch_size (5) to match target batch_size (4).",
    ),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), m.tensor([0.0, 1, 2, 3, 1])),
        RuntimeError,
        "expected target dtype to be Long or Byte, but got Float",
    ),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), CLASSES(m), label_smoothing=1.5),
        RuntimeError,
        "label_smoothing must be between 0.0 and 1.0. Got: 1.5",
    ),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), CLASSES(m), reduction="foo"),
        ValueError,
        "foo is not a valid value for reduction",
    ),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), m.zeros(4, 3)),
        ValueError,
        "Expected input batch_size (5) to match target batch_size (4).",
    ),
    (
        lambda m: m.nn.functional.nll_loss(t(m, 5, 3), CLASSES(m).int()),
        RuntimeError,
        "expected target dtype to be Long or Byte, but got Int",
    ),
    (
        lambda m: m.nn.functional.nll_loss(t(m, 5, 3), CLASSES(m), weight=m.ones(4)),
        RuntimeError,
        "weight tensor should be defined either for all 3 classes or no classes but got weight tensor of shape: [4]",
    ),
    (
        lambda m: m.nn.functional.nll_loss(t(m, 5, 3), m.tensor([0, 1, 2, 3, 9])),
        IndexError,
        "Target 3 is out of bounds.",
    ),
    (
        lambda m: m.nn.functional.nll_loss(t(m, 5, 3), m.tensor([0, 1, 2, -3, 2])),
        IndexError,
        "Target -3 is out of bounds.",
    ),
    (
        lambda m: m.nn.functional.nll_loss(t(m, 5, 3), m.tensor([0, 1, 2])),
        ValueError,
        "Expected input batch_size (5) to match target batch_size (3).",
    ),
    (lambda m: m.nn.functional.nll_loss(t(m), m.tensor(1)), ValueError, "Expected 1 or more dimensions (got 0)"),
    (
        lambda m: m.nn.functional.nll_loss(t(m, 5, 3), m.zeros(5, 3).long()),
        RuntimeError,
        "0D or 1D target tensor expected, multi-target not supported",
    ),
    (
        lambda m: m.nn.functional.binary_cross_entropy(t(m, 5) * 9, m.rand(5)),
        RuntimeError,
        "all elements of input should be between 0 and 1",
    ),
    (
        lambda m: m.nn.functional.binary_cross_entropy(t(m, 5).sigmoid(), m.rand(4)),
        ValueError,
        "Using a target size (mpigrad.Size([4])) that is different to the input size (mpigrad.Size([5])) is "
        "deprecated. Please ensure they have the same size.",
    ),
    (
        lambda m: m.nn.functional.binary_cross_entropy_with_logits(t(m, 5), m.rand(4)),
        ValueError,
        "Target size (mpigrad.Size([4])) must be the same as input size (mpigrad.Size([5]))",
    ),
]

NAMED: list[tuple[Any, str]] = [
    (lambda m: m.nn.functional.mse_loss(t(m, 5, 3), t(m, 5, 3)), "MseLossBackward0"),
    (lambda m: m.nn.functional.mse_loss(t(m, 5, 3), m.zeros(5, 3), reduction="none"), "MseLossBackward0"),
    (lambda m: m.nn.functional.l1_loss(t(m, 5), t(m, 5)), "MeanBackward0"),
    (lambda m: m.nn.functional.smooth_l1_loss(t(m, 5), t(m, 5)), "SmoothL1LossBackward0"),
    (lambda m: m.nn.functional.smooth_l1_loss(t(m, 5), t(m, 5), beta=0.0), "MeanBackward0"),
    (lambda m: m.nn.functional.huber_loss(t(m, 5), t(m, 5)), "HuberLossBackward0"),
    (lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), CLASSES(m)), "NllLossBackward0"),
    (
        lambda m: m.nn.functional.cross_entropy(t(m, 5, 3), CLASSES(m), weight=m.rand(3), label_smoothing=0.1),
        "AddBackward0",
    ),
    (lambda m: m.nn.functional.cross_entropy(t(m, 5, 3, 2), m.zeros(5, 2).long()), "NllLoss2DBackward0"),
    (lambda m: m.nn.functional.cross_entropy(t(m, 3), m.tensor(1)), "NllLossBackward0"),
    (lambda m: m.nn.functional.nll_loss(t(m, 5, 3), CLASSES(m)), "NllLossBackward0"),
    (lambda m: m.nn.functional.nll_loss(t(m, 5, 3, 2), m.zeros(5, 2).long()), "NllLoss2DBackward0"),
    (lambda m: m.nn.functional.nll_loss(t(m, 5, 3, 2, 2), m.zeros(5, 2, 2).long()), "NllLoss2DBackward0"),
    (lambda m: m.nn.functional.binary_cross_entropy(t(m, 5).sigmoid(), m.rand(5)), "BinaryCrossEntropyBackward0"),
    (
        lambda m: m.nn.functional.binary_cross_entropy_with_logits(t(m, 5), m.rand(5)),
        "BinaryCrossEntropyWithLogitsBackward0",
    ),
    (
        lambda m: m.nn.functional.binary_cross_entropy_with_logits(t(m, 5), m.rand(5), pos_weight=m.rand(5)),
        "BinaryCrossEntropyWithLogitsBackward0",
    ),
    (lambda m: m.nn.functional.kl_div(t(m, 5), m.rand(5)), "MeanBackward0"),
    (lambda m: m.nn.functional.kl_div(t(m, 5), m.rand(5), reduction="batchmean"), "DivBackward0"),
    (lambda m: m.nn.functional.kl_div(t(m, 5), m.rand(5), log_target=True), "MeanBackward0"),
    (lambda m: m.nn.functional.hinge_embedding_loss(t(m, 5), m.ones(5)), "MeanBackward0"),
    (lambda m: m.nn.functional.margin_ranking_loss(t(m, 5), t(m, 5), m.ones(5)), "MeanBackward0"),
    (lambda m: m.nn.functional.cosine_embedding_loss(t(m, 5, 3), t(m, 5, 3), m.ones(5)), "MeanBackward0"),
    (lambda m: m.nn.functional.triplet_margin_loss(t(m, 5, 3), t(m, 5, 3), t(m, 5, 3)), "MeanBackward0"),
    (lambda m: m.nn.functional.soft_margin_loss(t(m, 5), m.ones(5)), "SoftMarginLossBackward0"),
    (lambda m: m.nn.functional.multi_margin_loss(t(m, 5, 3), CLASSES(m)), "MultiMarginLossBackward0"),
    (lambda m: m.nn.functional.multilabel_margin_loss(t(m, 3), m.tensor([0, -1, 1])), "MultilabelMarginLossBackward0"),
    (lambda m: m.nn.functional.multilabel_soft_margin_loss(t(m, 5, 3), m.ones(5, 3)), "MeanBackward0"),
    (lambda m: m.nn.functional.poisson_nll_loss(t(m, 5), m.rand(5)), "MeanBackward0"),
    (lambda m: m.nn.functional.gaussian_nll_loss(t(m, 5), m.rand(5), m.rand(5)), "MeanBackward0"),
]
