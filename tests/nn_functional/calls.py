"""Calls of matrix products, `nn.functional` and `linalg`: bad ones with what they must say, good ones with their node.

Each call gets the module: mpigrad, or torch in the oracle's tests.
"""

from __future__ import annotations

from typing import Any

import mpigrad.linalg


def t(m: Any, *shape: int, **kw: Any) -> Any:
    """Random numbers that need a gradient."""
    return m.randn(shape, requires_grad=True, **kw)


def CLASSES(m: Any) -> Any:
    """Five class numbers below three."""
    return m.tensor([0, 2, 1, 1, 0])


def spd(m: Any, n: int) -> Any:
    """A positive definite matrix that needs a gradient."""
    a = m.randn(n, n, dtype=m.float64)
    return (a @ a.T + n * m.eye(n, dtype=m.float64)).requires_grad_()


BAD: list[tuple[Any, type[Exception], str]] = [
    (
        lambda m: t(m, 3) @ t(m, 4),
        RuntimeError,
        "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and "
        "4 elements respectively",
    ),
    (lambda m: t(m, 2, 3) @ t(m, 4), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda m: t(m, 3) @ t(m, 4, 2), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)"),
    (lambda m: t(m, 2, 3) @ t(m, 4, 4), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x4)"),
    (
        lambda m: t(m, 5, 2, 3) @ t(m, 4, 3, 2),
        RuntimeError,
        "The size of tensor a (5) must match the size of tensor b (4) at non-singleton dimension 0",
    ),
    (
        lambda m: t(m, 5, 2, 3) @ t(m, 5, 4, 2),
        RuntimeError,
        "Expected size for first two dimensions of batch2 tensor to be: [5, 3] but got: [5, 4].",
    ),
    (lambda m: t(m, 5, 2, 3) @ t(m, 4, 2), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (10x3 and 4x2)"),
    (lambda m: t(m) @ t(m, 3), RuntimeError, "both arguments to matmul need to be at least 1D, but they are 0D and 1D"),
    (lambda m: t(m, 3) @ t(m), RuntimeError, "both arguments to matmul need to be at least 1D, but they are 1D and 0D"),
    (
        lambda m: t(m, 2, 3) @ t(m, 3, 4, dtype=m.float64),
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (
        lambda m: m.mm(t(m, 2, 3), t(m, 3, 4, dtype=m.float64)),
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (lambda m: m.mm(t(m, 2, 3), t(m, 3)), RuntimeError, "mat2 must be a matrix"),
    (lambda m: m.mm(t(m, 3), t(m, 3, 2)), RuntimeError, "self must be a matrix"),
    (lambda m: m.mm(t(m, 2, 3), t(m, 4, 2)), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)"),
    (
        lambda m: m.mm(m.ones(2, 2, dtype=m.int64), m.ones(2, 2)),
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: long int != float",
    ),
    (
        lambda m: m.mm(m.ones(2, 2, dtype=m.bool), m.ones(2, 2, dtype=m.bool)),
        NotImplementedError,
        "\"addmm_impl_cpu_\" not implemented for 'Bool'",
    ),
    (lambda m: m.mm(1, t(m, 2, 2)), TypeError, "mm(): argument 'input' (position 1) must be Tensor, not int"),
    (lambda m: m.matmul(t(m, 2), 2), TypeError, "matmul(): argument 'other' (position 2) must be Tensor, not int"),
    (
        lambda m: m.bmm(t(m, 2, 3, 4), t(m, 3, 4, 5)),
        RuntimeError,
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].",
    ),
    (lambda m: m.bmm(t(m, 2, 3, 4), t(m, 4, 5)), RuntimeError, "batch2 must be a 3D tensor"),
    (lambda m: m.bmm(t(m, 2, 3), t(m, 4, 5)), RuntimeError, "batch1 must be a 3D tensor"),
    (
        lambda m: m.bmm(t(m, 2, 3, 4), t(m, 2, 4, 5).double()),
        RuntimeError,
        "expected scalar type Float but found Double",
    ),
    (lambda m: m.mv(t(m, 2, 3), t(m, 4)), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda m: m.mv(t(m, 2, 3), t(m, 3, 1)), RuntimeError, "vector + matrix @ vector expected, got 1, 2, 2"),
    (
        lambda m: m.mv(t(m, 2, 3), t(m, 3).double()),
        RuntimeError,
        "addmv input tensors must have the same dtype, but got Double, Float, and Double",
    ),
    (
        lambda m: m.dot(t(m, 3), t(m, 4)),
        RuntimeError,
        "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and "
        "4 elements respectively",
    ),
    (lambda m: m.dot(t(m, 3, 1), t(m, 3)), RuntimeError, "1D tensors expected, but got 2D and 1D tensors"),
    (
        lambda m: m.dot(t(m, 3), t(m, 3).double()),
        RuntimeError,
        "dot : expected both vectors to have same dtype, but found Float and Double",
    ),
    (
        lambda m: m.inner(t(m, 2, 3), t(m, 4, 2)),
        RuntimeError,
        "inner() the last dimension must match on both input tensors but got shapes [2, 3] and [4, 2]",
    ),
    (lambda m: m.outer(t(m, 2, 1), t(m, 3)), RuntimeError, "outer: Expected 1-D argument self, but got 2-D"),
    (lambda m: m.outer(t(m, 2), t(m, 3, 1)), RuntimeError, "outer: Expected 1-D argument vec2, but got 2-D"),
    (
        lambda m: m.addmm(t(m, 3), t(m, 2, 3), t(m, 3, 4)),
        RuntimeError,
        "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  Target "
        "sizes: [2, 4].  Tensor sizes: [3]",
    ),
    (
        lambda m: m.addmm(t(m, 4), t(m, 2, 3), t(m, 4, 4)),
        RuntimeError,
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x4)",
    ),
    (lambda m: m.addmm(t(m, 4), t(m, 2, 3), t(m, 4)), RuntimeError, "mat2 must be a matrix, got 1-D tensor"),
    (
        lambda m: m.addmm(t(m, 4).double(), t(m, 2, 3), t(m, 3, 4)),
        RuntimeError,
        "self and mat2 must have the same dtype, but got Double and Float",
    ),
    (
        lambda m: m.addmm(t(m, 4), t(m, 2, 3), t(m, 3, 4).double()),
        RuntimeError,
        "self and mat2 must have the same dtype, but got Float and Double",
    ),
    (
        lambda m: m.addmm(t(m, 2, 2, 4), t(m, 2, 3), t(m, 3, 4)),
        RuntimeError,
        "expand(mpigrad.FloatTensor{[2, 2, 4]}, size=[2, 4]): the number of sizes provided (2) must be greater or "
        "equal to the number of dimensions in the tensor (3)",
    ),
    (lambda m: m.addmv(t(m, 3), t(m, 2, 3), t(m, 3)), RuntimeError, "size mismatch, got input (3), mat (2x3), vec (3)"),
    (lambda m: m.addmv(t(m, 2), t(m, 2, 3), t(m, 4)), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"),
    (
        lambda m: m.addbmm(t(m, 3, 4), t(m, 5, 2, 3), t(m, 5, 3, 4)),
        RuntimeError,
        "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 0.  Target "
        "sizes: [2, 4].  Tensor sizes: [3, 4]",
    ),
    (
        lambda m: m.baddbmm(t(m, 5, 3, 4), t(m, 5, 2, 3), t(m, 5, 3, 4)),
        RuntimeError,
        "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 1.  Target "
        "sizes: [5, 2, 4].  Tensor sizes: [5, 3, 4]",
    ),
    (
        lambda m: m.baddbmm(t(m, 5, 2, 4), t(m, 5, 2, 3), t(m, 5, 2, 4)),
        RuntimeError,
        "Expected size for first two dimensions of batch2 tensor to be: [5, 3] but got: [5, 2].",
    ),
    (
        lambda m: m.addr(t(m, 2, 3), t(m, 2), t(m, 4)),
        RuntimeError,
        "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  Target "
        "sizes: [2, 4].  Tensor sizes: [2, 3]",
    ),
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
        lambda m: m.tensordot(t(m, 2, 3, 4), t(m, 3, 4, 5), dims=1),
        RuntimeError,
        "contracted dimensions need to match, but first has size 4 in dim -1 and second has size 3 in dim 0",
    ),
    (
        lambda m: m.tensordot(t(m, 2, 3), t(m, 2, 3), dims=([0, 1], [0])),
        RuntimeError,
        "both dimension lists should have same length",
    ),
    (
        lambda m: m.tensordot(t(m, 2, 3), t(m, 2, 3), dims=-1),
        RuntimeError,
        "tensordot expects dims >= 0, but got dims=-1",
    ),
    (
        lambda m: m.tensordot(t(m, 2, 3), t(m, 2, 3), dims=5),
        RuntimeError,
        "tensordot expects dims < ndim_a or ndim_b, but got dims=5",
    ),
    (
        lambda m: m.einsum("ij,jk->ik", t(m, 2, 3), t(m, 4, 4)),
        RuntimeError,
        "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
    ),
    (
        lambda m: m.einsum("ij,jk->iz", t(m, 2, 3), t(m, 3, 4)),
        RuntimeError,
        "einsum(): output subscript z does not appear in the equation for any input operand",
    ),
    (
        lambda m: m.einsum("ij->i->j", t(m, 2, 3)),
        RuntimeError,
        "einsum(): invalid subscript given at index 5 in the equation string, subscripts must be in [a-zA-Z]",
    ),
    (
        lambda m: m.einsum("ijk", t(m, 2, 3)),
        RuntimeError,
        "einsum(): the number of subscripts in the equation (3) does not match the number of dimensions (2) for "
        "operand 0 and no ellipsis was given",
    ),
    (
        lambda m: m.einsum("i", t(m, 2, 3)),
        RuntimeError,
        "einsum(): the number of subscripts in the equation (1) does not match the number of dimensions (2) for "
        "operand 0 and no ellipsis was given",
    ),
    (
        lambda m: m.einsum("i,j", t(m, 2)),
        RuntimeError,
        "einsum(): fewer operands were provided than specified in the equation",
    ),
    (
        lambda m: m.einsum("i1", t(m, 2, 2)),
        RuntimeError,
        "einsum(): invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]",
    ),
    (
        lambda m: m.einsum("ij->ii", t(m, 2, 2)),
        RuntimeError,
        "einsum(): output subscript i appears more than once in the output",
    ),
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
        lambda m: m.matmul(m.ones(5, 2, 3, dtype=m.int64), t(m, 5, 3, 2)),
        RuntimeError,
        "expected scalar type Long but found Float",
    ),
    (lambda m: t(m, 5, 2, 3) @ t(m, 5, 3, 2).double(), RuntimeError, "expected scalar type Float but found Double"),
    (
        lambda m: t(m, 2, 3).addmm_(t(m, 2, 4), t(m, 4, 3)),
        RuntimeError,
        "a leaf Variable that requires grad is being used in an in-place operation.",
    ),
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
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 2, 3, 3)),
        RuntimeError,
        "Given groups=1, weight of size [4, 2, 3, 3], expected input[2, 3, 8, 8] to have 2 channels, but got 3 "
        "channels instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 2, 2), t(m, 4, 3, 3, 3)),
        RuntimeError,
        "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than "
        "actual input size",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8), t(m, 4, 3, 3)),
        RuntimeError,
        "expected stride to be a single integer value or a list of 1 values to match the convolution dimensions, but "
        "got stride=[1, 1]",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 8), t(m, 4, 3, 3, 3)),
        RuntimeError,
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 8]",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), t(m, 3)),
        RuntimeError,
        "Given weight of size [4, 3, 3, 3], expected bias to be 1-dimensional with 4 elements, but got bias of size "
        "[3] instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), stride=0),
        RuntimeError,
        "non-positive stride is not supported",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding=-1),
        RuntimeError,
        "negative padding is not supported",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), groups=2),
        RuntimeError,
        "Given groups=2, weight of size [4, 3, 3, 3], expected input[2, 3, 8, 8] to have 6 channels, but got 3 "
        "channels instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), groups=3),
        RuntimeError,
        "Given groups=3, expected weight to be divisible by 3 at dimension 0, but got weight of size [[4, 3, 3, 3]] "
        "instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 4, 8, 8), t(m, 5, 2, 3, 3), groups=2),
        RuntimeError,
        "Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of size [[5, 2, 3, 3]] "
        "instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding="same", stride=2),
        RuntimeError,
        "padding='same' is not supported for strided convolutions",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding="foo"),
        RuntimeError,
        "Invalid padding string: 'foo'",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3).double()),
        RuntimeError,
        "Input type (mpigrad.FloatTensor) and weight type (mpigrad.DoubleTensor) should be the same or input should "
        "be a MKLDNN tensor and weight is a dense tensor",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), dilation=0),
        RuntimeError,
        "non-positive dilation is not supported",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), stride=(1, 2, 3)),
        RuntimeError,
        "expected stride to be a single integer value or a list of 2 values to match the convolution dimensions, but "
        "got stride=[1, 2, 3]",
    ),
    (
        lambda m: m.nn.functional.conv_transpose2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3)),
        RuntimeError,
        "Given transposed=1, weight of size [4, 3, 3, 3], expected input[2, 3, 8, 8] to have 4 channels, but got 3 "
        "channels instead",
    ),
    (
        lambda m: m.nn.functional.conv_transpose2d(t(m, 2, 3, 8, 8), t(m, 3, 4, 3, 3), output_padding=1),
        RuntimeError,
        "output padding must be smaller than either stride or dilation, but got output_padding_height: 1 "
        "output_padding_width: 1 stride_height: 1 stride_width: 1 dilation_height: 1 dilation_width: 1",
    ),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 8, 8), 3, padding=2),
        RuntimeError,
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=3 and dilation=1",
    ),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 8, 8), 3),
        RuntimeError,
        "non-empty 3D or 4D (batch mode) tensor expected for input",
    ),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 2, 2), 3),
        RuntimeError,
        "Given input size: (3x2x2). Calculated output size: (3x0x0). Output size is too small",
    ),
    (
        lambda m: m.nn.functional.avg_pool2d(t(m, 2, 3, 8, 8), 2, divisor_override=0),
        RuntimeError,
        "divisor must be not zero",
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
    (lambda m: m.nn.functional.pad(t(m, 3, 2), (1,)), RuntimeError, "Padding length must be divisible by 2"),
    (
        lambda m: m.nn.functional.pad(t(m, 3, 2), (1, 1, 1, 1, 1, 1)),
        RuntimeError,
        "Padding length should be less than or equal to two times the input dimension but got padding length 6 and "
        "input of dimension 2",
    ),
    (
        lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (5, 5), mode="reflect"),
        RuntimeError,
        "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (5, 5) at "
        "dimension 2 of input [1, 3, 4]",
    ),
    (
        lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (5, 5), mode="circular"),
        RuntimeError,
        "Padding value causes wrapping around more than once.",
    ),
    (lambda m: m.nn.functional.pad(t(m, 3), (1, 1), mode="foo"), NotImplementedError, "Unrecognised padding mode foo"),
    (lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4)), ValueError, "either size or scale_factor should be defined"),
    (
        lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4), size=3, scale_factor=2),
        ValueError,
        "only one of size or scale_factor should be defined",
    ),
    (
        lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4), size=3, mode="bilinear"),
        NotImplementedError,
        "Got 3D input, but bilinear mode needs 4D input",
    ),
    (lambda m: m.nn.functional.one_hot(CLASSES(m), 2), RuntimeError, "Class values must be smaller than num_classes."),
    (lambda m: m.nn.functional.one_hot(CLASSES(m) - 1), RuntimeError, "Class values must be non-negative."),
    (
        lambda m: m.nn.functional.one_hot(CLASSES(m).float()),
        RuntimeError,
        "one_hot is only applicable to index tensor of type LongTensor.",
    ),
    (
        lambda m: m.nn.functional.fold(t(m, 1, 8, 8), (4, 4), 2),
        RuntimeError,
        "Given output_size=(4, 4), kernel_size=(2, 2), dilation=(1, 1), padding=(0, 0), stride=(1, 1), expected size "
        "of input's dimension 2 to match the calculated number of sliding blocks 3 * 3 = 9, but got input.size(2)=8.",
    ),
    (
        lambda m: m.nn.functional.pixel_shuffle(t(m, 1, 3, 2, 2), 2),
        RuntimeError,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        "input.size(-3)=3 is not divisible by 4",
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
    (lambda m: t(m, 3) @ t(m, 3), "DotBackward0"),
    (lambda m: t(m, 2, 3) @ t(m, 3), "MvBackward0"),
    (lambda m: t(m, 3) @ t(m, 3, 2), "SqueezeBackward4"),
    (lambda m: t(m, 2, 3) @ t(m, 3, 4), "MmBackward0"),
    (lambda m: t(m, 5, 2, 3) @ t(m, 3, 4), "UnsafeViewBackward0"),
    (lambda m: t(m, 5, 2, 3) @ t(m, 3), "UnsafeViewBackward0"),
    (lambda m: t(m, 3) @ t(m, 5, 3, 2), "UnsafeViewBackward0"),
    (lambda m: t(m, 5, 2, 3) @ t(m, 5, 3, 2), "UnsafeViewBackward0"),
    (lambda m: t(m, 6, 5, 2, 3) @ t(m, 5, 3, 2), "UnsafeViewBackward0"),
    (lambda m: m.bmm(t(m, 2, 3, 4), t(m, 2, 4, 5)), "BmmBackward0"),
    (lambda m: m.mv(t(m, 2, 3), t(m, 3)), "MvBackward0"),
    (lambda m: m.dot(t(m, 3), t(m, 3)), "DotBackward0"),
    (lambda m: m.vdot(t(m, 3), t(m, 3)), "VdotBackward0"),
    (lambda m: m.inner(t(m, 3), t(m, 3)), "ViewBackward0"),
    (lambda m: m.inner(t(m, 2, 3), t(m, 4, 3)), "ViewBackward0"),
    (lambda m: m.inner(t(m), t(m, 4, 2)), "MulBackward0"),
    (lambda m: m.outer(t(m, 2), t(m, 3)), "MulBackward0"),
    (lambda m: m.addmm(t(m, 4), t(m, 2, 3), t(m, 3, 4)), "AddmmBackward0"),
    (lambda m: m.addmm(t(m, 2, 4), t(m, 2, 3), t(m, 3, 4), beta=2, alpha=3), "AddmmBackward0"),
    (lambda m: m.addmv(t(m, 2), t(m, 2, 3), t(m, 3)), "AddmvBackward0"),
    (lambda m: m.addbmm(t(m, 2, 4), t(m, 5, 2, 3), t(m, 5, 3, 4)), "AddbmmBackward0"),
    (lambda m: m.baddbmm(t(m, 5, 2, 4), t(m, 5, 2, 3), t(m, 5, 3, 4)), "BaddbmmBackward0"),
    (lambda m: m.addr(t(m, 2, 3), t(m, 2), t(m, 3)), "AddrBackward0"),
    (lambda m: m.linalg.multi_dot([t(m, 2, 3), t(m, 3, 4), t(m, 4, 5)]), "ViewBackward0"),
    (lambda m: m.linalg.multi_dot([t(m, 3), t(m, 3, 4), t(m, 4)]), "ViewBackward0"),
    (lambda m: m.tensordot(t(m, 2, 3, 4), t(m, 3, 4, 5)), "ViewBackward0"),
    (lambda m: m.tensordot(t(m, 2, 3, 4), t(m, 3, 4, 5), dims=([1], [0])), "ViewBackward0"),
    (lambda m: m.einsum("ij,jk->ik", t(m, 2, 3), t(m, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("ij,jk", t(m, 2, 3), t(m, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("ii", t(m, 2, 2)), "SumBackward1"),
    (lambda m: m.einsum("bij,bjk->bik", t(m, 5, 2, 3), t(m, 5, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("...ij,...jk->...ik", t(m, 5, 2, 3), t(m, 5, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("ij->ji", t(m, 2, 2)), "PermuteBackward0"),
    (lambda m: m.einsum("i,i->i", t(m, 2), t(m, 2)), "MulBackward0"),
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
    (lambda m: m.trace(t(m, 2, 3)), "TraceBackward0"),
    (lambda m: m.cross(t(m, 2, 3), t(m, 2, 3)), "LinalgCrossBackward0"),
    (lambda m: m.cdist(t(m, 2, 3), t(m, 4, 3)), "CdistBackward0"),
    (lambda m: m.ger(t(m, 2), t(m, 3)), "MulBackward0"),
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
    (lambda m: m.nn.functional.conv1d(t(m, 2, 3, 8), t(m, 4, 3, 3), t(m, 4)), "ConvolutionBackward0"),
    (lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), t(m, 4)), "ConvolutionBackward0"),
    (lambda m: m.nn.functional.conv2d(t(m, 3, 8, 8), t(m, 4, 3, 3, 3), t(m, 4)), "SqueezeBackward1"),
    (lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding="same"), "ConvolutionBackward0"),
    (lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 2, 2), padding="same"), "ConvolutionBackward0"),
    (
        lambda m: m.nn.functional.conv_transpose2d(
            t(m, 2, 3, 8, 8), t(m, 3, 4, 3, 3), t(m, 4), stride=2, output_padding=1
        ),
        "ConvolutionBackward0",
    ),
    (lambda m: m.nn.functional.max_pool1d(t(m, 2, 3, 8), 2), "SqueezeBackward1"),
    (lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 8, 8), 2), "MaxPool2DWithIndicesBackward0"),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 8, 8), 2, return_indices=True)[0],
        "MaxPool2DWithIndicesBackward0",
    ),
    (lambda m: m.nn.functional.max_pool3d(t(m, 2, 3, 4, 4, 4), 2), "MaxPool3DWithIndicesBackward0"),
    (lambda m: m.nn.functional.avg_pool1d(t(m, 2, 3, 8), 2), "SqueezeBackward1"),
    (lambda m: m.nn.functional.avg_pool2d(t(m, 2, 3, 8, 8), 2), "AvgPool2DBackward0"),
    (lambda m: m.nn.functional.adaptive_avg_pool1d(t(m, 2, 3, 8), 3), "SqueezeBackward1"),
    (lambda m: m.nn.functional.adaptive_avg_pool2d(t(m, 2, 3, 8, 8), 3), "AdaptiveAvgPool2DBackward0"),
    (lambda m: m.nn.functional.adaptive_avg_pool2d(t(m, 2, 3, 8, 8), 1), "MeanBackward1"),
    (lambda m: m.nn.functional.adaptive_max_pool1d(t(m, 2, 3, 8), 3), "SqueezeBackward1"),
    (lambda m: m.nn.functional.adaptive_max_pool2d(t(m, 2, 3, 8, 8), (3, None)), "AdaptiveMaxPool2DBackward0"),
    (lambda m: m.nn.functional.lp_pool2d(t(m, 2, 3, 8, 8), 2, 2), "PowBackward0"),
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
    (lambda m: m.nn.functional.dropout(t(m, 5, 3)), "MulBackward0"),
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
    (lambda m: m.cdist(t(m, 3, 2), t(m, 4, 2), p=1), "CdistBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 3, 2), (1, 1)), "ConstantPadNdBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (1, 1), mode="reflect"), "ReflectionPad1DBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (1, 1), mode="replicate"), "ReplicationPad1DBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (1, 1), mode="circular"), "torch::autograd::CopySlices"),
    (lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4, 4), scale_factor=2), "UpsampleNearest2DBackward0"),
    (
        lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4, 4), size=(3, 3), mode="bilinear"),
        "UpsampleBilinear2DBackward0",
    ),
    (lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4), size=3, mode="linear"), "UpsampleLinear1DBackward0"),
    (lambda m: m.nn.functional.unfold(t(m, 1, 2, 4, 4), 2), "Im2ColBackward0"),
    (lambda m: m.nn.functional.fold(t(m, 1, 8, 9), (4, 4), 2), "Col2ImBackward0"),
    (lambda m: m.nn.functional.pixel_shuffle(t(m, 1, 4, 2, 2), 2), "PixelShuffleBackward0"),
    (lambda m: m.nn.functional.pixel_unshuffle(t(m, 1, 1, 4, 4), 2), "PixelUnshuffleBackward0"),
    (lambda m: m.nn.functional.channel_shuffle(t(m, 1, 4, 2, 2), 2), "ChannelShuffleBackward0"),
    (
        lambda m: m.nn.functional.scaled_dot_product_attention(t(m, 2, 4, 3), t(m, 2, 5, 3), t(m, 2, 5, 3)),
        "UnsafeViewBackward0",
    ),
    (lambda m: m.nn.functional.embedding(CLASSES(m), t(m, 4, 2)), "EmbeddingBackward0"),
    (lambda m: m.nn.functional.embedding_bag(CLASSES(m), t(m, 4, 2), m.tensor([0, 2])), "EmbeddingBagBackward0"),
    (lambda m: m.nn.functional.softmax(t(m, 3), 0), "SoftmaxBackward0"),
    (lambda m: m.nn.functional.log_softmax(t(m, 3), 0), "LogSoftmaxBackward0"),
    (lambda m: m.linalg.inv(spd(m, 3)), "LinalgInvExBackward0"),
    (lambda m: m.inverse(spd(m, 2)), "LinalgInvExBackward0"),
    (lambda m: m.linalg.solve(spd(m, 3), t(m, 3).double()), "LinalgSolveExBackward0"),
    (lambda m: m.linalg.solve(spd(m, 3), t(m, 3, 2).double()), "LinalgSolveExBackward0"),
    (lambda m: m.linalg.det(spd(m, 3)), "LinalgDetBackward0"),
    (lambda m: m.det(spd(m, 2)), "LinalgDetBackward0"),
    (lambda m: m.linalg.slogdet(spd(m, 2))[1], "LinalgSlogdetBackward0"),
    (lambda m: m.linalg.slogdet(spd(m, 2))[0], "LinalgSlogdetBackward0"),
    (lambda m: m.linalg.cholesky(spd(m, 3)), "LinalgCholeskyExBackward0"),
    (lambda m: m.cholesky(spd(m, 2)), "CholeskyBackward0"),
    (lambda m: m.linalg.qr(t(m, 3, 2))[0], "LinalgQrBackward0"),
    (lambda m: m.linalg.qr(t(m, 3, 2), mode="complete")[0], "LinalgQrBackward0"),
    (lambda m: m.linalg.svd(t(m, 3, 2))[0], "LinalgSvdBackward0"),
    (lambda m: m.linalg.svd(t(m, 3, 2), full_matrices=False)[1], "LinalgSvdBackward0"),
    (lambda m: m.linalg.svdvals(t(m, 3, 2)), "LinalgSvdBackward0"),
    (lambda m: m.svd(t(m, 3, 2))[2], "TransposeBackward0"),
    (lambda m: m.linalg.eigh(spd(m, 3))[0], "LinalgEighBackward0"),
    (lambda m: m.linalg.eigvalsh(spd(m, 3)), "LinalgEighBackward0"),
    (lambda m: m.linalg.eig(spd(m, 3))[0], "LinalgEigBackward0"),
    (lambda m: m.linalg.eigvals(spd(m, 3)), "LinalgEigBackward0"),
    (lambda m: m.linalg.pinv(t(m, 3, 2)), "LinalgPinvBackward0"),
    (lambda m: m.linalg.pinv(spd(m, 2), hermitian=True), "LinalgPinvBackward0"),
    (lambda m: m.linalg.matrix_power(spd(m, 2), 3), "MmBackward0"),
    (lambda m: m.linalg.matrix_power(spd(m, 2), -2), "MmBackward0"),
    (lambda m: m.matrix_power(spd(m, 2), 1), "CloneBackward0"),
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
    (lambda m: m.pinverse(t(m, 2, 2)), "LinalgPinvBackward0"),
    (lambda m: m.trace(t(m, 2, 2)), "TraceBackward0"),
    (lambda m: m.qr(t(m, 2, 2))[0], "LinalgQrBackward0"),
]
