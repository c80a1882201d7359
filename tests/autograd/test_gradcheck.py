"""`gradcheck` and `gradgradcheck` must find what is wrong, and pass what is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad.autograd import Function, gradcheck, gradgradcheck
from mpigrad.autograd.gradcheck import GradcheckError

F64, C128 = mpigrad.float64, mpigrad.complex128


def leaf(*shape: int, dtype: Any = F64) -> mpigrad.Tensor:
    made = np.random.default_rng(1).uniform(0.5, 1.5, shape) + (0.3j if dtype is C128 else 0)
    return mpigrad.tensor(made, dtype=dtype, requires_grad=True)


def wrong(backward: Any, forward: Any = lambda ctx, x: x * x) -> Any:
    class Wrong(Function):
        pass

    Wrong.forward, Wrong.backward = staticmethod(forward), staticmethod(backward)  # type: ignore[method-assign]
    return Wrong.apply


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (1, 2, 1)])
@pytest.mark.parametrize("dtype", [F64, C128])
@pytest.mark.parametrize("fast", [False, True])
def test_right_ones_pass(shape: tuple[int, ...], dtype: Any, fast: bool) -> None:
    def function(x: mpigrad.Tensor, y: mpigrad.Tensor) -> Any:
        return x * y * y, (x + y).sum()

    inputs = (leaf(*shape, dtype=dtype), leaf(*shape, dtype=dtype))
    assert gradcheck(function, inputs, fast_mode=fast, check_batched_grad=True, check_grad_dtypes=True)
    assert gradgradcheck(function, inputs, fast_mode=fast)


def test_real_functions_of_complex_numbers() -> None:
    assert gradcheck(lambda z: z * z.conj(), leaf(3, dtype=C128))
    assert gradcheck(lambda z: z.abs(), leaf(3, dtype=C128))


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_factor(fast: bool) -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
        gradcheck(wrong(lambda ctx, grad: grad), leaf(3), fast_mode=fast)
    assert not gradcheck(wrong(lambda ctx, grad: grad), leaf(3), raise_exception=False, fast_mode=fast)


def test_wrong_second_derivative() -> None:
    def forward(ctx: Any, x: mpigrad.Tensor) -> mpigrad.Tensor:
        ctx.x = x.detach()
        return x * x

    function = wrong(lambda ctx, grad: grad * 2 * ctx.x, forward)
    assert gradcheck(function, leaf(3))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(function, leaf(3))


def test_conjugate_forgotten() -> None:
    def forward(ctx: Any, x: mpigrad.Tensor) -> mpigrad.Tensor:
        ctx.save_for_backward(x)
        return x * x

    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(wrong(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0], forward), leaf(2, dtype=C128))


def test_not_multiplied_by_what_comes_in() -> None:
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(wrong(lambda ctx, grad: mpigrad.ones(1, dtype=F64), lambda ctx, x: x * 1), leaf(1))


def test_not_the_same_twice() -> None:
    noise = iter(np.arange(100) * 1e-7)
    function = wrong(lambda ctx, grad: grad * float(1 + next(noise)), lambda ctx, x: x * 1)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(function, leaf(2))
    assert gradcheck(function, leaf(2), nondet_tol=1e-4)


def test_missing_gradients_must_be_coped_with() -> None:
    def forward(ctx: Any, x: mpigrad.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        if a is None or b is None:
            raise RuntimeError("cannot do that")
        return a + 2 * b

    with pytest.raises(GradcheckError, match="Expected backward function to handle undefined output grads"):
        gradcheck(lambda x: sum(wrong(backward, forward)(x)), leaf(2))
    assert gradcheck(lambda x: sum(wrong(backward, forward)(x)), leaf(2), check_undefined_grad=False)


def test_no_graph_where_one_should_be() -> None:
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: (x * 2).detach(), leaf(2))
    assert gradcheck(lambda x: (x * 0).detach(), leaf(2))


def test_inputs_are_left_as_they_were() -> None:
    x = leaf(4)
    before = x.tolist()
    gradcheck(lambda x: x * x, x)
    assert x.tolist() == before and x.grad is None and x._version == 0


def test_bad_inputs() -> None:
    with pytest.raises(
        ValueError, match="gradcheck expects at least one input tensor to require gradient, but none of them have"
    ):
        gradcheck(lambda x: x, mpigrad.ones(1))
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point"):
        gradcheck(lambda x: x * 2, mpigrad.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)
    with pytest.raises(NotImplementedError, match="forward-mode differentiation is not offered"):
        gradcheck(lambda x: x, leaf(1), check_forward_ad=True)


def test_non_contiguous_inputs_and_grad_outputs() -> None:
    x = leaf(3, 2).detach().t().requires_grad_()
    assert not x.is_contiguous()
    assert gradcheck(lambda x: x * x, x)
    assert gradgradcheck(lambda x: x * x, x, gen_non_contig_grad_outputs=True)
