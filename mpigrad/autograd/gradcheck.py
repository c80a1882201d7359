"""`gradcheck`: compares the gradients of the graph with finite differences.

Everything is reduced to real numbers: each real and each imaginary part of an output is one function, and the gradient of a real
function with respect to a complex number z = x + iy is d/dx + i d/dy, as in the engine.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.device import array_module, host
from .._core.engine import as_array
from .._core.tensor import wrap
from .._tensor import Tensor

Function = Callable[..., Any]


def grad(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """`autograd.grad`, imported late: the package imports this module at once, and no thread may wait for both in turn."""
    from ._backward import grad

    return grad(*args, **kwargs)


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when gradients differ from finite differences; the message shows
    both.
    """


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func(*inputs)` with central finite differences; True if they agree, otherwise
    GradcheckError.

    - `inputs`: gradients are checked for those that require grad, which should be float64.
    - `eps`: the width of the differences. `atol`, `rtol`: absolute and relative tolerances.
    - `raise_exception=False`: return False instead of raising.
    - `nondet_tol`: by how much two backward passes may differ. `fast_mode`: compare along one random direction only.
    - `check_undefined_grad`, `check_grad_dtypes`, `check_batched_grad`: also check gradients that are None, types of
      gradients, batched gradients.
    - `masked` has no effect. Forward mode (`check_forward_ad`) is not
      supported.

    >>> import mpigrad
    >>> x = mpigrad.rand(3, dtype=mpigrad.float64, requires_grad=True)
    >>> mpigrad.autograd.gradcheck(lambda x: x * x, x)
    True
    """
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError(
            "gradcheck: forward-mode differentiation is not offered; leave check_forward_ad=False"
        )
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol)
    try:
        check.inputs_are_good()
        if check.has_differentiable_outputs():
            check.fast() if fast_mode else check.slow()
            if check_batched_grad:
                check.batched()
            check.multiplied_by_grad_output()
            if check_grad_dtypes:
                check.grad_dtypes()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of `func(*inputs)` with finite differences; True if they agree, otherwise
    GradcheckError.

    `grad_outputs`: the gradients of the outputs for the first derivative, random by default; they are differentiated,
    too. The other arguments are those of `gradcheck`.

    >>> import mpigrad
    >>> x = mpigrad.rand(3, dtype=mpigrad.float64, requires_grad=True)
    >>> mpigrad.autograd.gradgradcheck(lambda x: x * x * x, x)
    True
    """
    args = _as_tuple(inputs)
    if grad_outputs is None:
        outs = _differentiable(_as_tuple(func(*args)))
        grads = tuple(_random_like(each, gen_non_contig_grad_outputs).requires_grad_() for each in outs)
    else:
        grads = _as_tuple(grad_outputs)

    def gradients(*both: Any) -> tuple[Any, ...]:
        given, tangents = both[: len(args)], both[len(args) :]
        outs = _differentiable(_as_tuple(func(*given)))
        wanted = tuple(each for each in given if _needs(each))
        found = grad(outs, wanted, tangents, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradcheck(
        gradients,
        args + grads,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
    )


class _Check:
    """The checks of one function, with its inputs and tolerances."""

    def __init__(
        self, func: Function, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet: float
    ) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet = eps, atol, rtol, nondet
        self.wanted = tuple(each for each in inputs if _needs(each))

    def outputs(self) -> tuple[Tensor, ...]:
        return _differentiable(_as_tuple(self.func(*self.inputs)))

    def inputs_are_good(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for place, each in enumerate(self.inputs):
            if _needs(each) and each._array.dtype.itemsize < (16 if each._array.dtype.kind == "c" else 8):
                warnings.warn(
                    f"Input #{place} requires gradient and is not a double precision floating point or complex. This "
                    "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            if _needs(each) and not getattr(each._array.flags, "writeable", True):
                raise RuntimeError(
                    f"The {place}th input has memory that cannot be written, or elements that share it (an expanded "
                    "tensor, for example). Please call .contiguous() or .clone() on it before gradcheck."
                )

    def has_differentiable_outputs(self) -> bool:
        """Whether an output requires grad. If none does, all numerical derivatives must be zero."""
        outs = _as_tuple(self.func(*self.inputs))
        if _differentiable(outs):
            return True
        for each in self.wanted:
            for jacobian in _numerical(
                self, each, lambda: [out for out in _as_tuple(self.func(*self.inputs)) if _floats(out)]
            ):
                if not np.allclose(jacobian, 0, atol=self.atol):
                    raise GradcheckError("Numerical gradient for function expected to be zero")
        return False

    def slow(self) -> None:
        """Compare the whole Jacobians, element by element."""
        numerical = [_numerical(self, each, self.outputs) for each in self.wanted]
        outs = self.outputs()
        for nr, out in enumerate(outs):
            analytical = self._analytical(out)
            for place, (found, expected) in enumerate(zip(analytical, numerical)):
                self._compare(nr, place, expected[nr], found)
            # a second time with the same inputs: the derivative must be deterministic
            again = self._analytical(out)
            self._same(analytical, again)

    def _analytical(self, out: Tensor) -> list[np.ndarray]:
        """For each input, the gradients of all real components of `out`, one row each."""
        rows: list[list[np.ndarray]] = [[] for _ in self.wanted]
        for unit in _units(out):
            found = grad(out, self.wanted, unit, retain_graph=True, allow_unused=True)
            for row, each, by in zip(rows, found, self.wanted):
                row.append(np.zeros(by._array.size) if each is None else _flat(each, by))
        return [np.array(row).reshape(len(row), by._array.size) for row, by in zip(rows, self.wanted)]

    def _compare(self, output: int, place: int, numerical: np.ndarray, analytical: np.ndarray) -> None:
        if not np.allclose(analytical, numerical, self.rtol, self.atol):
            raise GradcheckError(
                f"Jacobian mismatch for output {output} with respect to input {place},\n"
                f"numerical:{numerical.T}\nanalytical:{analytical.T}\n"
            )

    def _same(self, first: list[np.ndarray], second: list[np.ndarray]) -> None:
        for a, b in zip(first, second):
            if a.size and not np.max(np.abs(a - b)) <= self.nondet:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient. The tolerance "
                    f"for nondeterminism was {self.nondet}."
                )

    def fast(self) -> None:
        """Compare Jacobians along one random direction on either side."""
        outs = self.outputs()
        for place, by in enumerate(self.wanted):
            direction = _random_like(by)._array
            plus, minus = self._moved(by, direction, self.eps), self._moved(by, direction, -self.eps)
            for nr, out in enumerate(outs):
                weights = _random_like(out)
                slope = (plus[nr] - minus[nr]) / (2 * self.eps)
                numerical = np.sum((np.conj(host(weights._array)) * slope).real)
                (found,) = grad(out, by, weights, retain_graph=True, allow_unused=True)
                analytical = 0.0 if found is None else np.sum((np.conj(host(found._array)) * host(direction)).real)
                self._compare(nr, place, np.array([[numerical]]), np.array([[analytical]]))

    def _moved(self, by: Tensor, direction: Any, step: float) -> list[np.ndarray]:
        before = by._array.copy()
        by._array[...] += step * direction
        try:
            return [host(out._array).copy() for out in self.outputs()]
        finally:
            by._array[...] = before

    def batched(self) -> None:
        """Check that batched gradients equal those computed one by one."""
        for out in self.outputs():
            pair = [_random_like(out), _random_like(out)]
            stacked = wrap(array_module(out._array).stack([each._array for each in pair]))
            at_once = grad(out, self.wanted, stacked, retain_graph=True, allow_unused=True, is_grads_batched=True)
            for i, one in enumerate(pair):
                for a, b in zip(grad(out, self.wanted, one, retain_graph=True, allow_unused=True), at_once):
                    if a is not None and b is not None and not np.allclose(host(a._array), host(b._array)[i]):
                        raise GradcheckError(
                            "gradcheck: batched gradients differ from those computed one after the other"
                        )

    def multiplied_by_grad_output(self) -> None:
        """Check that zero gradients give zeros, as gradients are linear in the incoming gradient."""
        outs = self.outputs()
        zeros = [wrap(array_module(out._array).zeros_like(out._array)) for out in outs]
        found = grad(outs, self.wanted, zeros, allow_unused=True)
        for each, by in zip(found, self.wanted):
            if each is None:
                continue
            if host(each._array).any():
                raise GradcheckError("backward not multiplied by grad_output")
            if each.device != by.device:
                raise GradcheckError("grad is on a different device than the input")
            if tuple(each.shape) != tuple(by.shape):
                raise GradcheckError(f"grad has size {list(each.shape)}, the input {list(by.shape)}")

    def grad_dtypes(self) -> None:
        for out in self.outputs():
            for place, (each, by) in enumerate(
                zip(grad(out, self.wanted, _random_like(out), allow_unused=True), self.wanted)
            ):
                if each is not None and each.dtype is not by.dtype:
                    raise GradcheckError(f"Input {place} has dtype {by.dtype}, but its gradient has {each.dtype}")

    def undefined(self) -> None:
        """Check that nodes accept undefined gradients (None)."""
        outs = self.outputs()
        cases = [[None] * len(outs)]
        if len(outs) > 1:
            cases += [
                [None if i == missing else _random_like(out)._array for i, out in enumerate(outs)]
                for missing in range(len(outs))
            ]
        for case in cases:
            self._undefined(self.outputs(), case)

    def _undefined(self, outs: tuple[Tensor, ...], grads: list[Any]) -> None:
        try:
            from ._backward import run_backward

            found = run_backward(outs, grads, True, False, self.wanted)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: gradients may be missing (None) for some "
                "outputs"
            ) from error
        if all(each is None for each in grads):
            for each in found:
                if each is not None and host(as_array(each)).any():
                    raise GradcheckError(
                        "Expected all input grads to be undefined or zero when all output grads are undefined or zero"
                    )


def _numerical(check: _Check, by: Tensor, outputs: Callable[[], Any]) -> list[np.ndarray]:
    """For each output, the gradients of its real components with respect to `by`, from central differences."""
    flat = by._array.reshape(-1) if by._array.flags.c_contiguous else None
    columns: list[list[np.ndarray]] = []
    for place in range(by._array.size):
        # a copy by reshape would not change the input, so elements of other layouts are addressed by coordinates
        at = place if flat is not None else np.unravel_index(place, by._array.shape)
        target = flat if flat is not None else by._array
        slope = _slope(target, at, check.eps, outputs)
        if by._array.dtype.kind == "c":
            # two real directions for each complex element, see the top of this file
            slope = [a + 1j * b for a, b in zip(slope, _slope(target, at, check.eps * 1j, outputs))]
        columns.append(slope)
    sizes = [_parts(out).size for out in outputs()]
    return [np.array([column[nr] for column in columns]).reshape(len(columns), size).T for nr, size in enumerate(sizes)]


def _slope(target: Any, at: Any, step: Any, outputs: Callable[[], Any]) -> list[np.ndarray]:
    before = target[at].copy()
    width = 2 * abs(step)
    target[at] = before + step
    above = [_parts(out) for out in outputs()]
    target[at] = before - step
    below = [_parts(out) for out in outputs()]
    target[at] = before
    return [(a - b) / width for a, b in zip(above, below)]


def _parts(out: Tensor) -> np.ndarray:
    """A copy of the real components of an output: all real parts, then all imaginary parts."""
    flat = host(out._array).reshape(-1)
    return np.concatenate([flat.real, flat.imag]) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _units(out: Tensor) -> Any:
    """Incoming gradients that select one real component of `out` each, in the order of `_parts`."""
    xp = array_module(out._array)
    for unit in (1, 1j) if out._array.dtype.kind == "c" else (1,):
        for place in range(out._array.size):
            made = xp.zeros(out._array.size, out._array.dtype)
            made[place] = unit
            yield wrap(made.reshape(out._array.shape))


def _flat(gradient: Tensor, by: Tensor) -> np.ndarray:
    if tuple(gradient.shape) != tuple(by.shape):
        raise GradcheckError(f"Analytical gradient has incorrect size: {list(gradient.shape)} for {list(by.shape)}")
    return host(gradient.to_dense()._array).reshape(-1).copy()


@functools.cache
def _random() -> np.random.Generator:
    """A separate random generator, so that the user's is not advanced. Created late, because importing numpy.random is slow."""
    return np.random.default_rng(0)


def _random_like(tensor: Tensor, non_contiguous: bool = False) -> Tensor:
    array = tensor._array
    shape = (*array.shape, 2) if non_contiguous else array.shape
    made = np.asarray(_random().standard_normal(shape))
    if array.dtype.kind == "c":
        made = made + 1j * _random().standard_normal(shape)
    made = array_module(array).asarray(made, dtype=array.dtype)
    return wrap(made[..., 0] if non_contiguous else made)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value._array.dtype.kind in "fcV"


def _needs(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _differentiable(outs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return tuple(out for out in outs if _needs(out))


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
