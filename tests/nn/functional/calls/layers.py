"""Calls of layers and activations: invalid ones with the error that they must raise, valid ones with their node."""

from __future__ import annotations

from typing import Any

import mpigrad

from .inputs import CLASSES, t

# Dropout is one operator on a GPU, a product with a mask elsewhere.
MASKED = "MulBackward0" if mpigrad.get_default_device().type == "cpu" else "NativeDropoutBackward0"

BAD: list[tuple[Any, type[Exception], str]] = [
    (
        lambda m: m.nn.functional.bilinear(t(m, 5, 2), t(m, 4, 3), t(m, 4, 2, 3)),
        RuntimeError,
        "bilinear(): input batch dimensions do not match at dim 0: got 5 and 4",
    ),
    (
        lambda m: m.nn.functional.bilinear(t(m, 5, 3), t(m, 5, 3), t(m, 4, 2, 3)),
        RuntimeError,
        "bilinear(): input1 size does not match weight size: got 3 but expected 2",
    ),
    (
        lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 4, 2), t(m, 4)),
        RuntimeError,
        "mat1 and mat2 shapes cannot be multiplied (5x3 and 2x4)",
    ),
    (
        lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 4, 2)),
        RuntimeError,
        "mat1 and mat2 shapes cannot be multiplied (5x3 and 2x4)",
    ),
    (
        lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 4, 3), t(m, 5)),
        RuntimeError,
        "The expanded size of the tensor (4) must match the existing size (5) at non-singleton dimension 1.  Target "
        "sizes: [5, 4].  Tensor sizes: [5]",
    ),
    (
        lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 4, 3).double(), t(m, 4)),
        RuntimeError,
        "self and mat2 must have the same dtype, but got Float and Double",
    ),
    (
        lambda m: m.nn.functional.linear(t(m, 5, 3, dtype=m.float64), t(m, 4, 3), t(m, 4)),
        RuntimeError,
        "mat1 and mat2 must have the same dtype, but got Double and Float",
    ),
    (
        lambda m: m.nn.functional.linear(m.ones(5, 3, dtype=m.int64), t(m, 4, 3), t(m, 4)),
        RuntimeError,
        "mat1 and mat2 must have the same dtype, but got Long and Float",
    ),
    (
        lambda m: m.nn.functional.batch_norm(t(m, 1, 3), m.zeros(3), m.ones(3), t(m, 3), t(m, 3), True),
        ValueError,
        "Expected more than 1 value per channel when training, got input size mpigrad.Size([1, 3])",
    ),
    (
        lambda m: m.nn.functional.batch_norm(t(m, 5, 3), m.zeros(4), m.ones(3), t(m, 3), t(m, 3), False),
        RuntimeError,
        "running_mean should contain 3 elements not 4",
    ),
    (
        lambda m: m.nn.functional.batch_norm(t(m, 5, 3), None, None),
        RuntimeError,
        "running_mean must be defined in evaluation mode",
    ),
    (
        lambda m: m.nn.functional.layer_norm(t(m, 5, 3), (4,), t(m, 3), t(m, 3)),
        RuntimeError,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape [3] and normalized_shape = "
        "[4]",
    ),
    (
        lambda m: m.nn.functional.layer_norm(t(m, 5, 3), (3,), t(m, 4), t(m, 3)),
        RuntimeError,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape [4] and normalized_shape = "
        "[3]",
    ),
    (
        lambda m: m.nn.functional.layer_norm(t(m, 5, 3), ()),
        RuntimeError,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []",
    ),
    (
        lambda m: m.nn.functional.group_norm(t(m, 5, 4, 3), 3, t(m, 4), t(m, 4)),
        RuntimeError,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape [5, 4, 3] and "
        "num_groups=3",
    ),
    (
        lambda m: m.nn.functional.instance_norm(t(m, 5, 4, 1)),
        ValueError,
        "Expected more than 1 spatial element when training, got input size mpigrad.Size([5, 4, 1])",
    ),
    (
        lambda m: m.nn.functional.dropout(t(m, 5, 3), p=2),
        ValueError,
        "dropout probability has to be between 0 and 1, but got 2",
    ),
    (lambda m: m.nn.functional.glu(t(m, 3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
    (
        lambda m: m.nn.functional.prelu(t(m, 5, 3), t(m, 2)),
        RuntimeError,
        "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = 3.",
    ),
    (lambda m: m.nn.functional.one_hot(CLASSES(m), 2), RuntimeError, "Class values must be smaller than num_classes."),
    (lambda m: m.nn.functional.one_hot(CLASSES(m) - 1), RuntimeError, "Class values must be non-negative."),
    (
        lambda m: m.nn.functional.one_hot(CLASSES(m).float()),
        RuntimeError,
        "one_hot is only applicable to index tensor of type LongTensor.",
    ),
    (lambda m: m.nn.functional.embedding(CLASSES(m), t(m, 2, 2)), IndexError, "index out of range in self"),
    (
        lambda m: m.nn.functional.embedding(CLASSES(m).float(), t(m, 2, 2)),
        RuntimeError,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "mpigrad.FloatTensor instead (while checking arguments for embedding)",
    ),
    (
        lambda m: m.nn.functional.embedding(CLASSES(m), t(m, 4, 2), padding_idx=9),
        AssertionError,
        "Padding_idx must be within num_embeddings",
    ),
]

NAMED: list[tuple[Any, str]] = [
    (lambda m: m.nn.functional.bilinear(t(m, 5, 2), t(m, 5, 3), t(m, 4, 2, 3), t(m, 4)), "AddBackward0"),
    (lambda m: m.nn.functional.bilinear(t(m, 5, 2), t(m, 5, 3), t(m, 4, 2, 3)), "ViewBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 4, 3), t(m, 4)), "AddmmBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 4, 3)), "MmBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 2, 5, 3), t(m, 4, 3), t(m, 4)), "ViewBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 2, 5, 3), t(m, 4, 3)), "UnsafeViewBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 6, 2, 5, 3), t(m, 4, 3), t(m, 4)), "ViewBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 3), t(m, 4, 3), t(m, 4)), "ViewBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 3), t(m, 4, 3)), "SqueezeBackward4"),
    (lambda m: m.nn.functional.linear(t(m, 3), t(m, 3)), "DotBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 3), t(m, 3), t(m)), "AddBackward0"),
    (lambda m: m.nn.functional.linear(t(m, 5, 3), t(m, 3)), "MvBackward0"),
    (
        lambda m: m.nn.functional.batch_norm(t(m, 5, 3), m.zeros(3), m.ones(3), t(m, 3), t(m, 3), True),
        "NativeBatchNormBackward0",
    ),
    (
        lambda m: m.nn.functional.batch_norm(t(m, 5, 3), m.zeros(3), m.ones(3), t(m, 3), t(m, 3), False),
        "NativeBatchNormBackward0",
    ),
    (lambda m: m.nn.functional.layer_norm(t(m, 5, 3), (3,), t(m, 3), t(m, 3)), "NativeLayerNormBackward0"),
    (lambda m: m.nn.functional.group_norm(t(m, 5, 4, 3), 2, t(m, 4), t(m, 4)), "NativeGroupNormBackward0"),
    (lambda m: m.nn.functional.instance_norm(t(m, 5, 4, 3)), "ViewBackward0"),
    (lambda m: m.nn.functional.rms_norm(t(m, 5, 3), (3,), t(m, 3)), "MulBackward0"),
    (lambda m: m.nn.functional.local_response_norm(t(m, 5, 3, 4), 2), "DivBackward0"),
    (lambda m: m.nn.functional.dropout(t(m, 5, 3)), MASKED),
    (lambda m: m.nn.functional.dropout2d(t(m, 5, 3, 2, 2)), "MulBackward0"),
    (lambda m: m.nn.functional.dropout1d(t(m, 5, 3, 2)), "MulBackward0"),
    (lambda m: m.nn.functional.glu(t(m, 4)), "GluBackward0"),
    (lambda m: m.nn.functional.prelu(t(m, 5, 3), t(m, 3)), "PreluKernelBackward0"),
    (lambda m: m.nn.functional.rrelu(t(m, 3), training=True), "RreluWithNoiseBackward0"),
    (lambda m: m.nn.functional.rrelu(t(m, 3)), "RreluWithNoiseBackward0"),
    (lambda m: m.nn.functional.hardswish(t(m, 3)), "HardswishBackward0"),
    (lambda m: m.nn.functional.hardsigmoid(t(m, 3)), "HardsigmoidBackward0"),
    (lambda m: m.nn.functional.hardtanh(t(m, 3)), "HardtanhBackward0"),
    (lambda m: m.nn.functional.relu6(t(m, 3)), "HardtanhBackward0"),
    (lambda m: m.nn.functional.mish(t(m, 3)), "MishBackward0"),
    (lambda m: m.nn.functional.softsign(t(m, 3)), "DivBackward0"),
    (lambda m: m.nn.functional.tanhshrink(t(m, 3)), "SubBackward0"),
    (lambda m: m.nn.functional.softshrink(t(m, 3)), "SoftshrinkBackward0"),
    (lambda m: m.nn.functional.hardshrink(t(m, 3)), "HardshrinkBackward0"),
    (lambda m: m.nn.functional.threshold(t(m, 3), 0.1, 20), "ThresholdBackward0"),
    (lambda m: m.nn.functional.softmin(t(m, 3), 0), "SoftmaxBackward0"),
    (lambda m: m.nn.functional.softplus(t(m, 3)), "SoftplusBackward0"),
    (lambda m: m.nn.functional.silu(t(m, 3)), "SiluBackward0"),
    (lambda m: m.nn.functional.selu(t(m, 3)), "EluBackward0"),
    (lambda m: m.nn.functional.celu(t(m, 3)), "CeluBackward0"),
    (lambda m: m.nn.functional.elu(t(m, 3)), "EluBackward0"),
    (lambda m: m.nn.functional.gelu(t(m, 3)), "GeluBackward0"),
    (lambda m: m.nn.functional.leaky_relu(t(m, 3)), "LeakyReluBackward0"),
    (lambda m: m.nn.functional.logsigmoid(t(m, 3)), "LogSigmoidBackward0"),
    (lambda m: m.nn.functional.gumbel_softmax(t(m, 3, 2)), "SoftmaxBackward0"),
    (lambda m: m.nn.functional.gumbel_softmax(t(m, 3, 2), hard=True), "AddBackward0"),
    (lambda m: m.nn.functional.normalize(t(m, 3, 2)), "DivBackward0"),
    (lambda m: m.nn.functional.cosine_similarity(t(m, 3, 2), t(m, 3, 2)), "SumBackward1"),
    (lambda m: m.nn.functional.pdist(t(m, 3, 2)), "PdistBackward0"),
    (
        lambda m: m.nn.functional.scaled_dot_product_attention(t(m, 2, 4, 3), t(m, 2, 5, 3), t(m, 2, 5, 3)),
        "UnsafeViewBackward0",
    ),
    (lambda m: m.nn.functional.embedding(CLASSES(m), t(m, 4, 2)), "EmbeddingBackward0"),
    (lambda m: m.nn.functional.embedding_bag(CLASSES(m), t(m, 4, 2), m.tensor([0, 2])), "EmbeddingBagBackward0"),
    (lambda m: m.nn.functional.softmax(t(m, 3), 0), "SoftmaxBackward0"),
    (lambda m: m.nn.functional.log_softmax(t(m, 3), 0), "LogSoftmaxBackward0"),
]
