"""Evaluates one expression with PyTorch and with mpigrad, and compares everything that users can see of the results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Inputs = Callable[[Any], dict[str, Any]]  # makes the names of an expression, given the library


def evaluate(library: Any, expression: str, inputs: Inputs) -> tuple[dict[str, Any], Any]:
    """The names and the value of an expression, or the exception that it raised."""
    names = {"T": library, "np": np, **inputs(library)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return names, eval(expression, names)
        except Exception as error:
            return names, error


def flat(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(value, (tuple, list)):
        return [one for each in value for one in flat(each)]
    return [value]


def spelled(text: str) -> str:
    """Return the first line of a message of PyTorch as mpigrad spells it."""
    return text.split("\n")[0].replace("torch.", "mpigrad.")


def look(value: Any) -> Any:
    """Return what can be compared of one result, without its gradients."""
    if not hasattr(value, "grad_fn"):
        return value
    node = None if value.grad_fn is None else value.grad_fn.name()
    return tuple(value.shape), str(value.dtype).partition(".")[2], value.requires_grad, node, value._base is not None


def gradients(library: Any, names: dict[str, Any], results: list[Any]) -> list[Any]:
    """The gradients of a weighted sum of all results, for all leaves."""
    leaves = [each for each in names.values() if getattr(each, "requires_grad", False) and each.grad_fn is None]
    roots = [each for each in results if getattr(each, "requires_grad", False)]
    if not roots or not leaves:
        return []
    found = library.autograd.grad(roots, leaves, [_weights(library, each) for each in roots], allow_unused=True)
    return [None if each is None else each.detach().numpy() for each in found]


def _weights(library: Any, tensor: Any) -> Any:
    values = np.cos(np.arange(tensor.numel(), dtype="f8")).reshape(tuple(tensor.shape))
    return library.from_numpy(values).to(tensor.dtype)


def compare(torch: Any, ours: Any, expression: str, inputs: Inputs) -> None:
    """Assert that both libraries give the same values, types, views, node names, gradients or errors."""
    names, expected = evaluate(torch, expression, inputs)
    own_names, found = evaluate(ours, expression, inputs)
    if isinstance(expected, Exception):
        assert isinstance(found, Exception), f"{expression}: no error, but PyTorch says {expected}"
        mine, theirs = (type(found), str(found).split("\n")[0]), (type(expected), spelled(str(expected)))
        assert mine == theirs, f"{expression}: {mine} instead of {theirs}"
        return
    if isinstance(found, Exception):
        raise AssertionError(f"{expression} raised") from found
    left, right = flat(expected), flat(found)
    mine, theirs = [look(each) for each in right], [look(each) for each in left]
    assert mine == theirs, f"{expression}: {mine} instead of {theirs}"
    for a, b in zip(left, right):
        if hasattr(a, "detach"):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), 1e-6, 1e-7, err_msg=expression)
    pairs = zip(gradients(torch, names, left), gradients(ours, own_names, right), strict=True)
    for wanted, got in pairs:
        assert (wanted is None) == (got is None), f"{expression}: a gradient is missing on one side"
        if wanted is not None:
            np.testing.assert_allclose(got, wanted, 1e-6, 1e-7, err_msg=expression)
