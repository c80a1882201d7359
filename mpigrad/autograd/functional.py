"""Derivatives of functions: Jacobians, Hessians, and their products with vectors.

`func` takes tensors and returns a tensor or a tuple; `inputs` is a tensor or a tuple of its arguments. With
`create_graph` the results can be differentiated again. `strict` raises a RuntimeError if an output does not depend on
an input; otherwise that derivative is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.tensor import wrap
from .._graph.grad_mode import enable_grad
from .._tensor import Tensor
from ._backward import grad, zeros_for

Tensors = tuple[Tensor, ...]
Many = Tensor | Sequence[Tensor]
Function = Callable[..., Any]


def jacobian(
    func: Function,
    inputs: Many,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`: a tensor of the shape of the output followed by that of the input.

    Several inputs give a tuple, several outputs a tuple of tuples. `create_graph`: record the result, so that it can be
    differentiated again. `strict`: raise a RuntimeError if an output does not depend on an input. `vectorize` and
    `strategy` have no effect on the result.

    >>> import mpigrad
    >>> mpigrad.autograd.functional.jacobian(lambda x: x * x, mpigrad.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", but got {strategy!r}')
    if strict and vectorize:
        raise RuntimeError(
            "mpigrad.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together."
        )
    with enable_grad():
        args, given_many = _inputs(inputs, "jacobian", create_graph)
        outs, made_many = _outputs(func(*args), "outputs of the user-provided function", "jacobian")
        _check_outputs(outs, strict)
        made = tuple(_jacobian_of(out, nr, args, create_graph, strict) for nr, out in enumerate(outs))
    rows = tuple(each if given_many else each[0] for each in made)
    return _finish(rows if made_many else rows[0], create_graph)


def _jacobian_of(out: Tensor, nr: int, args: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobians of one output with respect to each input."""
    rows: list[list[Tensor]] = [[] for _ in args]
    flat = out.reshape(-1)
    for place in range(flat._array.size):
        found = _gradients((flat[place],), args, None, create_graph)
        for which, (row, each, by) in enumerate(zip(rows, found, args)):
            _check_dependence(each, nr, which, create_graph, strict)
            row.append(wrap(zeros_for(by)) if each is None else each)
    return tuple(_stacked(row, out, by) for row, by in zip(rows, args))


def _stacked(rows: list[Tensor], out: Tensor, by: Tensor) -> Tensor:
    from .._ops.create.create import zeros
    from .._ops.shape.joining import stack

    shape = (*out._array.shape, *by._array.shape)
    if not rows:
        return zeros(shape, dtype=out.dtype, device=out.device)
    return stack(rows).reshape(shape)


def hessian(
    func: Function,
    inputs: Many,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian (matrix of second derivatives) of `func`, which returns a tensor with one element, at `inputs`.

    Its shape is that of the input twice; several inputs give a tuple of tuples. `create_graph`: record the result, so that
    it can be differentiated again. `strict`: raise a RuntimeError if an output does not depend on an input. `vectorize` and
    `outer_jacobian_strategy` have no effect on the result.

    >>> import mpigrad
    >>> mpigrad.autograd.functional.hessian(lambda x: (x * x * x).sum(), mpigrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    given_many = not isinstance(inputs, Tensor)

    def gradient(*args: Tensor) -> Any:
        out = _one_number(func(*args), "hessian")
        _check_outputs((out,), strict)
        found = grad(out, args, create_graph=True, allow_unused=True) if out.requires_grad else (None,) * len(args)
        made = []
        for which, (each, by) in enumerate(zip(found, args)):
            _check_dependence(each, 0, which, True, strict)
            made.append(wrap(zeros_for(by)) if each is None else each)
        return tuple(made)

    found = jacobian(gradient, inputs if not given_many else tuple(inputs), create_graph, strict, vectorize)
    return found if given_many else found[0]


def vjp(
    func: Function, inputs: Many, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (func(*inputs), v^T J): the outputs, and the product of the vector `v` with the Jacobian J, from one
    backward pass.

    `v` has the shape of the output; it may be left out if that has one element. The product has the shape of the inputs.
    `create_graph`: record the result, so that it can be differentiated again. `strict`: raise a RuntimeError if an output
    does not depend on an input.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0])
    >>> mpigrad.autograd.functional.vjp(lambda x: x * x, x, mpigrad.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        args, given_many = _inputs(inputs, "vjp", create_graph)
        outs, made_many = _outputs(func(*args), "outputs of the user-provided function", "vjp")
        _check_outputs(outs, strict)
        vector = _vector(v, outs, "user-provided function returns", create_graph)
        found = _gradients(outs, args, vector, create_graph)
        products = _zeros_where_missing(found, args, create_graph, strict)
    return _finish(outs if made_many else outs[0], create_graph), _finish(
        products if given_many else products[0], create_graph
    )


def jvp(
    func: Function, inputs: Many, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (func(*inputs), J v): the outputs, and the product of the Jacobian J with the vector `v`, from two
    backward passes.

    `v` has the shape of the inputs; it may be left out if there is one with one element. The product has the shape of the
    output. `create_graph`: record the result, so that it can be differentiated again. `strict`: raise a RuntimeError if an
    output does not depend on an input.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0])
    >>> mpigrad.autograd.functional.jvp(lambda x: x * x, x, mpigrad.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        args, _ = _inputs(inputs, "jvp", create_graph)
        vector = _vector(v, args, "input has", create_graph)
        outs, made_many = _outputs(func(*args), "outputs of the user-provided function", "jvp")
        _check_outputs(outs, strict)
        # the vjp is linear in its vector, so its derivative with respect to the vector is the transposed Jacobian
        starts = tuple(wrap(zeros_for(out)).requires_grad_() for out in outs)
        found = _gradients(outs, args, starts, True)
        linear = _zeros_where_missing(found, args, True, strict)
        second = _gradients(linear, starts, vector, create_graph)
        products = _zeros_where_missing(second, outs, create_graph, strict)
    return tuple(_finish(each if made_many else each[0], create_graph) for each in (outs, products))  # type: ignore[return-value]


def vhp(
    func: Function, inputs: Many, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (func(*inputs), v^T H): the value of a scalar function, and the product of the vector `v` with its
    Hessian H.

    `v` and the product have the shape of the inputs. It is cheaper than `hvp`, and the same where second derivatives are
    continuous. `create_graph`: record the result, so that it can be differentiated again. `strict`: raise a RuntimeError if
    an output does not depend on an input.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0])
    >>> mpigrad.autograd.functional.vhp(lambda x: (x * x * x).sum(), x, mpigrad.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        args, given_many = _inputs(inputs, "vhp", create_graph)
        vector = _vector(v, args, "input has", create_graph)
        out = _one_number(func(*args), "vhp")
        _check_outputs((out,), strict)
        first = _zeros_where_missing(_gradients((out,), args, None, True), args, True, strict)
        second = _gradients(first, args, vector, create_graph)
        products = _zeros_where_missing(second, args, create_graph, strict)
    return _finish(out, create_graph), _finish(products if given_many else products[0], create_graph)


def hvp(
    func: Function, inputs: Many, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (func(*inputs), H v): the value of a scalar function, and the product of its Hessian H with the vector
    `v`.

    `v` and the product have the shape of the inputs. `create_graph`: record the result, so that it can be differentiated
    again. `strict`: raise a RuntimeError if an output does not depend on an input.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0])
    >>> mpigrad.autograd.functional.hvp(lambda x: (x * x * x).sum(), x, mpigrad.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        args, given_many = _inputs(inputs, "hvp", create_graph)
        vector = _vector(v, args, "input has", create_graph)
        out = _one_number(func(*args), "hvp")
        _check_outputs((out,), strict)
        starts = (wrap(zeros_for(out)).requires_grad_(),)
        starts[0]._array[...] = 1
        first = _zeros_where_missing(_gradients((out,), args, starts, True), args, True, strict)
        # two passes over the gradient: the transposed Hessian's product, transposed once more
        inner = tuple(wrap(zeros_for(each)).requires_grad_() for each in args)
        middle = _zeros_where_missing(_gradients(first, args, inner, True), args, True, strict)
        products = _zeros_where_missing(_gradients(middle, inner, vector, create_graph), args, create_graph, strict)
    return _finish(out, create_graph), _finish(products if given_many else products[0], create_graph)


def _tensors(value: Any, what: str, who: str) -> tuple[Tensors, bool]:
    many = isinstance(value, (tuple, list))
    found = tuple(value) if many else (value,)
    for place, each in enumerate(found):
        if not isinstance(each, Tensor):
            where = (
                f"the value at index {place} of the {what} has type {type(each)}"
                if many
                else f"the {what} has type {type(each)}"
            )
            raise TypeError(f"The {what} given to {who} must be either a Tensor or a tuple of Tensors but {where}.")
    return found, many


def _outputs(value: Any, what: str, who: str) -> tuple[Tensors, bool]:
    return _tensors(value, what, who)


def _inputs(value: Any, who: str, create_graph: bool) -> tuple[Tensors, bool]:
    """Copies of the inputs that require grad, so that the users' `.grad` is not changed; connected to them if `create_graph`."""
    found, many = _tensors(value, "inputs", who)
    return tuple(
        each.view_as(each) if create_graph and each.requires_grad else each.detach().requires_grad_() for each in found
    ), many


def _one_number(value: Any, who: str) -> Tensor:
    found, many = _tensors(value, "outputs of the user-provided function", who)
    if many or len(found) != 1:
        raise RuntimeError(f"The function given to {who} should return a single Tensor")
    if found[0]._array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {who} should contain a single element")
    return found[0].squeeze() if found[0]._array.ndim else found[0]


def _vector(v: Any, like: Tensors, what: str, create_graph: bool) -> Tensors | None:
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        made = wrap(zeros_for(like[0]))
        made._array[...] = 1
        return (made,)
    found, _ = _tensors(v, "v", "the function")
    if len(found) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}.")
    for place, (each, other) in enumerate(zip(found, like)):
        if each._array.shape != other._array.shape:
            where = f"Entry {place} in v" if len(like) > 1 else "v"
            raise RuntimeError(f"{where} has invalid size: should be {other.shape} but got {each.shape}.")
    return tuple(each if create_graph else each.detach() for each in found)


def _check_outputs(outs: Tensors, strict: bool) -> None:
    if not strict:
        return
    for place, out in enumerate(outs):
        if not out.requires_grad:
            raise RuntimeError(
                f"Output {place} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode."
            )


def _check_dependence(found: Tensor | None, output: int, place: int, create_graph: bool, strict: bool) -> None:
    if not strict:
        return
    if found is None:
        raise RuntimeError(
            f"Output {output} of the user-provided function is independent of input {place}. This is not allowed in "
            "strict mode."
        )
    if create_graph and not found.requires_grad:
        raise RuntimeError(
            f"The jacobian of the user-provided function is independent of input {place}. This is not allowed in "
            "strict mode when create_graph=True."
        )


def _gradients(outs: Tensors, args: Tensors, vector: Tensors | None, create_graph: bool) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs that depend on the inputs; None for the others."""
    starts = vector if vector is not None else (None,) * len(outs)
    pairs = [(out, start) for out, start in zip(outs, starts) if out.requires_grad]
    if not pairs:
        return (None,) * len(args)
    kept, given = zip(*pairs)
    return grad(kept, args, given, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _zeros_where_missing(found: Sequence[Tensor | None], like: Tensors, create_graph: bool, strict: bool) -> Tensors:
    for place, each in enumerate(found):
        _check_dependence(each, 0, place, False, strict)
    return tuple(wrap(zeros_for(other)) if each is None else each for each, other in zip(found, like))


def _finish(value: Any, create_graph: bool) -> Any:
    """Detach results unless `create_graph`."""
    if isinstance(value, tuple):
        return tuple(_finish(each, create_graph) for each in value)
    return value if create_graph else value.detach()


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
