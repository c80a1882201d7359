"""Calls of products of matrices and vectors: invalid ones with the error that they must raise, valid ones with their node."""

from __future__ import annotations

from typing import Any

from .inputs import spd, t

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
    (lambda m: m.tensordot(t(m, 2, 3, 4), t(m, 3, 4, 5)), "ViewBackward0"),
    (lambda m: m.tensordot(t(m, 2, 3, 4), t(m, 3, 4, 5), dims=([1], [0])), "ViewBackward0"),
    (lambda m: m.einsum("ij,jk->ik", t(m, 2, 3), t(m, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("ij,jk", t(m, 2, 3), t(m, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("ii", t(m, 2, 2)), "SumBackward1"),
    (lambda m: m.einsum("bij,bjk->bik", t(m, 5, 2, 3), t(m, 5, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("...ij,...jk->...ik", t(m, 5, 2, 3), t(m, 5, 3, 4)), "ViewBackward0"),
    (lambda m: m.einsum("ij->ji", t(m, 2, 2)), "PermuteBackward0"),
    (lambda m: m.einsum("i,i->i", t(m, 2), t(m, 2)), "MulBackward0"),
    (lambda m: m.trace(t(m, 2, 3)), "TraceBackward0"),
    (lambda m: m.cross(t(m, 2, 3), t(m, 2, 3)), "LinalgCrossBackward0"),
    (lambda m: m.cdist(t(m, 2, 3), t(m, 4, 3)), "CdistBackward0"),
    (lambda m: m.ger(t(m, 2), t(m, 3)), "MulBackward0"),
    (lambda m: m.cdist(t(m, 3, 2), t(m, 4, 2), p=1), "CdistBackward0"),
    (lambda m: m.inverse(spd(m, 2)), "LinalgInvExBackward0"),
    (lambda m: m.det(spd(m, 2)), "LinalgDetBackward0"),
    (lambda m: m.cholesky(spd(m, 2)), "CholeskyBackward0"),
    (lambda m: m.svd(t(m, 3, 2))[2], "TransposeBackward0"),
    (lambda m: m.matrix_power(spd(m, 2), 1), "CloneBackward0"),
    (lambda m: m.pinverse(t(m, 2, 2)), "LinalgPinvBackward0"),
    (lambda m: m.trace(t(m, 2, 2)), "TraceBackward0"),
    (lambda m: m.qr(t(m, 2, 2))[0], "LinalgQrBackward0"),
]
