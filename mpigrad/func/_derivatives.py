"""Derivatives of functions as functions: grad, vjp, jvp, Jacobians and Hessians; each may be used inside another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._graph.grad_mode import enable_grad
from .._ops.create.create import zeros_like
from .._ops.shape.joining import stack
from .._tensor import Tensor
from ..autograd import grad as gradients
from ._trees import flatten, rebuilt

ArgNums = int | tuple[int, ...]


class _Inputs:
    """The arguments of one call. The differentiated ones are new leaves, or aliases of tensors that an outer transform
    differentiates."""

    def __init__(self, args: tuple[Any, ...], argnums: ArgNums) -> None:
        self.single = isinstance(argnums, int)
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for each in numbers:
            if not -len(args) <= each < len(args):
                raise RuntimeError(f"Got argnum={each}, but only {len(args)} positional inputs")
        made = list(args)
        chosen = tuple(args[each] for each in numbers)
        leaves, self.rebuild = flatten(chosen)
        self.leaves = [_opened(each) for each in leaves]
        for number, value in zip(numbers, rebuilt(self.rebuild, self.leaves)):
            made[number] = value
        self.args = tuple(made)

    def gradients(self, outputs: list[Tensor], seeds: list[Tensor] | None = None) -> list[Tensor]:
        """The gradients of the inputs, with their graph; zeros for inputs that do not contribute."""
        starts: list[Any] = [None] * len(outputs) if seeds is None else list(seeds)
        pairs = [(each, seed) for each, seed in zip(outputs, starts) if each.requires_grad]
        if not pairs:
            return [zeros_like(each) for each in self.leaves]
        roots, given = [each for each, _ in pairs], [seed for _, seed in pairs]
        found = gradients(roots, self.leaves, given, retain_graph=True, create_graph=True, allow_unused=True)
        return [zeros_like(by) if each is None else each for each, by in zip(found, self.leaves)]

    def nest(self, values: list[Tensor]) -> Any:
        """Arrange one value per input in the structure of the arguments."""
        made = rebuilt(self.rebuild, values)
        return made[0] if self.single else made

    def closed(self, value: Any) -> Any:
        """Detach a result from these inputs, but not from the inputs of outer transforms."""
        found, rebuild = flatten(value)
        own = {id(each) for each in self.leaves if each.grad_fn is None}
        return rebuilt(rebuild, [_closed(each, own) for each in found])


def _opened(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"only tensors can be differentiated, but an argument has a {type(value).__name__}")
    return value.view_as(value) if value.requires_grad else value.detach().requires_grad_()


def _closed(value: Any, own: set[int]) -> Any:
    if not isinstance(value, Tensor) or not value.requires_grad or _leads_out(value, own):
        return value
    return value.detach()


def _leads_out(tensor: Tensor, own: set[int]) -> bool:
    if tensor.grad_fn is None:
        return id(tensor) not in own
    seen, left = set(), [tensor.grad_fn]
    while left:
        node: Any = left.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and id(node.variable) not in own:
            return True
        left += [each for each, _ in node.next_functions if each is not None]
    return False


def _scalar(out: Any) -> Tensor:
    head = "grad_and_value(f)(*args): Expected f(*args) to return a "
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{head}Tensor, got {type(out)}")
    if out.ndim:
        raise RuntimeError(
            f"{head}scalar Tensor, got tensor with {out.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    return out


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns (gradient, value) of `func`, whose value is a tensor with one element.

    `argnums` and `has_aux` are those of `grad`; with `has_aux` the result is (gradient, (value, aux)).

    >>> import mpigrad
    >>> mpigrad.func.grad_and_value(lambda x: x**2)(mpigrad.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            inputs = _Inputs(args, argnums)
            out = func(*inputs.args, **kwargs)
            out, aux = out if has_aux else (out, None)
            found = inputs.gradients([_scalar(out)])
        found = [inputs.closed(each) for each in found]
        value = inputs.closed(out)
        return inputs.nest(found), (value, inputs.closed(aux)) if has_aux else value

    return wrapped


def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function with the arguments of `func` that returns its gradient. `func` must return a tensor with one
    element.

    - `argnums`: the number of the argument to differentiate, or a tuple of several, which gives a tuple. An argument
      may be a nested structure of tensors; the gradient then has this structure.
    - `has_aux`: `func` returns (value, aux), and the new function (gradient, aux).

    >>> import mpigrad
    >>> mpigrad.func.grad(mpigrad.func.grad(lambda x: x**3))(mpigrad.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapped


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (value, vjp_fn): the value of `func(*primals)`, and a function from gradients of the value to a tuple of
    gradients of `primals`.

    `has_aux`: `func` returns (value, aux), and the result is (value, vjp_fn, aux).

    >>> import mpigrad
    >>> value, back = mpigrad.func.vjp(lambda x: x**2, mpigrad.tensor([1.0, 2.0]))
    >>> back(mpigrad.ones(2))
    (tensor([2., 4.]),)
    """
    with enable_grad():
        inputs = _Inputs(primals, tuple(range(len(primals))))
        out = func(*inputs.args)
    out, aux = out if has_aux else (out, None)
    outputs = flatten(out)[0]

    def back(cotangents: Any) -> Any:
        with enable_grad():
            found = inputs.gradients(outputs, flatten(cotangents)[0])
        return inputs.nest([inputs.closed(each) for each in found])

    return (inputs.closed(out), back, inputs.closed(aux)) if has_aux else (inputs.closed(out), back)


def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False) -> Any:
    """Return (value, derivative): the value of `func(*primals)`, and its directional derivative along `tangents`.

    `primals` and `tangents` are tuples of the same structure. `has_aux`: `func` returns (value, aux), and aux follows
    in the result.

    >>> import mpigrad
    >>> mpigrad.func.jvp(lambda x: x**2, (mpigrad.tensor(3.0),), (mpigrad.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to be a tuple. E.g. it should be valid to call f(*primals)."
            )
    with enable_grad():
        inputs = _Inputs(primals, tuple(range(len(primals))))
        along = flatten(tangents)[0]
        _check_tangents(inputs.leaves, along)
        out = func(*inputs.args)
        out, aux = out if has_aux else (out, None)
        outputs, rebuild = flatten(out)
        seeds = [zeros_like(each).requires_grad_() for each in outputs]
        found = inputs.gradients(outputs, seeds)  # linear in the seeds, so its derivative with respect to them is the jvp
        roots = [(each, by) for each, by in zip(found, along) if each.requires_grad]
        moved: Any = (
            gradients([a for a, _ in roots], seeds, [b for _, b in roots], create_graph=True, allow_unused=True)
            if roots
            else [None] * len(seeds)
        )
        moved = [zeros_like(by) if each is None else each for each, by in zip(moved, outputs)]
    inputs.leaves += seeds
    results = inputs.closed(out), inputs.closed(rebuilt(rebuild, moved))
    return (*results, inputs.closed(aux)) if has_aux else results


def _check_tangents(primals: list[Tensor], tangents: list[Tensor]) -> None:
    for value, along in zip(primals, tangents, strict=True):
        if value.shape != along.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(value.shape)} while the given forward gradient is of size "
                f"{list(along.shape)}."
            )


def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function with the arguments of `func` that returns its Jacobian, of the shape of the value followed by that
    of the argument.

    It needs one backward pass for each element of the value. `argnums` and `has_aux` are those of `grad`;
    `chunk_size` has no effect.

    >>> import mpigrad
    >>> mpigrad.func.jacrev(lambda x: x**2)(mpigrad.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            inputs = _Inputs(args, argnums)
            out = func(*inputs.args, **kwargs)
            out, aux = out if has_aux else (out, None)
            outputs, rebuild = flatten(out)
            made = [inputs.nest([inputs.closed(each) for each in _rows(inputs, each)]) for each in outputs]
        found = rebuilt(rebuild, made)
        return (found, inputs.closed(aux)) if has_aux else found

    return wrapped


def _rows(inputs: _Inputs, output: Tensor) -> list[Tensor]:
    """For each input, the gradients of all elements of an output, with the shape output + input."""
    flat = output.reshape(-1)
    rows = [inputs.gradients([each]) for each in flat.unbind()]
    if not rows:
        return [each.new_zeros((*output.shape, *each.shape)) for each in inputs.leaves]
    columns = zip(*rows)
    return [stack(each).reshape(*output.shape, *by.shape) for each, by in zip(columns, inputs.leaves)]


def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The same as `jacrev`, as mpigrad has no forward-mode differentiation. `randomness` has no effect."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of `func`, whose value is a tensor with one element; `argnums`
    as for `grad`.

    >>> import mpigrad
    >>> mpigrad.func.hessian(lambda x: (x**3).sum())(mpigrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]
