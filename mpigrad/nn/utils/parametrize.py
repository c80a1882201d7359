"""Parametrizations: a parameter of a module becomes a function of other tensors, which are trained instead."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._graph.grad_mode import no_grad
from ..._tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter


class _Cache:
    """While `depth` is above zero, each parametrized tensor is computed once."""

    depth = 0
    held: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A context manager in which each parametrized tensor is computed only once, however often it is read."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.held = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other.

    `original` is the tensor to which they are applied; `original0`, `original1`, ... if the first one takes several.
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            new = _inverse(list(self), original)
        self.is_tensor, self.ntensors = isinstance(new, Tensor), 1 if isinstance(new, Tensor) else len(new)
        parts = [original if new is original else new] if self.is_tensor else list(new)
        for name, part in zip(self._names(), parts):
            if isinstance(original, Parameter):
                held = part if isinstance(part, Parameter) else Parameter(part, requires_grad=original.requires_grad)
                self.register_parameter(name, held)
            else:
                self.register_buffer(name, part)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the original tensors so that the parametrized tensor gets the given value."""
        with no_grad():
            for each in reversed(list(self)):
                if not hasattr(each, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(each).__name__} does not implement right_inverse.")
                value = each.right_inverse(value)
            for name, part in zip(self._names(), [value] if self.is_tensor else value):
                getattr(self, name).copy_(part)

    def forward(self) -> Tensor:
        first, *others = self
        value = first(*(getattr(self, name) for name in self._names()))
        for each in others:
            value = each(value)
        return value


def _inverse(parametrizations: list[Any], value: Any) -> Any:
    for each in reversed(parametrizations):
        if hasattr(each, "right_inverse"):
            value = each.right_inverse(value)
    return value


def _current(module: Any, name: str) -> Tensor:
    if not _Cache.depth:
        return module.parametrizations[name]()
    key = (id(module), name)
    if key not in _Cache.held:
        _Cache.held[key] = module.parametrizations[name]()
    return _Cache.held[key]


def _refuse_pickling(self: Module) -> Any:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")


def _set(self: Any, name: str, value: Any) -> None:
    if "parametrizations" in self._modules and name in self.parametrizations:
        self.parametrizations[name].right_inverse(value)
    else:
        super(type(self), self).__setattr__(name, value)


def _deep_copy(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with a separate class, so that removing parametrizations from one does not affect the other."""
    made: Any = object.__new__(_parametrized_class(type(self)._parametrized_from))
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name in made.parametrizations:
        _add_property(type(made), name)
    return made


def _parametrized_class(kind: type) -> type:
    body = {
        "__getstate__": _refuse_pickling,
        "__setattr__": _set,
        "__deepcopy__": _deep_copy,
        "_parametrized_from": kind,
        "__module__": kind.__module__,
    }
    return type("Parametrized" + kind.__name__, (kind,), body)


def _add_property(kind: type, name: str) -> None:
    setattr(kind, name, property(lambda self: _current(self, name)))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace `module.<tensor_name>` by `parametrization(original)`, computed at each access; the original tensor is
    trained.

    - `parametrization`: a module; if it has a method `right_inverse(tensor)`, that gives the original from the
      current value.
    - `unsafe`: do not check that shape and type stay the same.

    Returns the module, whose class is changed. Further parametrizations of one tensor are applied after the first.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> class Twice(nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> layer = nn.Linear(2, 2)
    >>> before = layer.weight.detach().clone()
    >>> layer = nn.utils.parametrize.register_parametrization(layer, "weight", Twice())
    >>> bool((layer.weight == 2 * before).all())
    True
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe=unsafe)
    if not unsafe:
        with no_grad():
            _check_shape(original, made())
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = _parametrized_class(type(module))
        module.parametrizations = ModuleDict()
        module.__class__ = kind
    module.parametrizations[tensor_name] = made
    _add_property(type(module), tensor_name)
    return module


def _check_shape(before: Tensor, after: Any) -> None:
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    if tuple(after.shape) != tuple(before.shape):
        raise ValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized shape: {before.shape}\nparametrized shape: {after.shape}"
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or its tensor `tensor_name`, is parametrized."""
    held = module._modules.get("parametrizations")
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Turn a parametrized tensor into an ordinary parameter again; returns the module.

    Its value is the current one, with `leave_parametrized=False` that of the original tensor.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held: Any = module.parametrizations[tensor_name]
    if not leave_parametrized and not held.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized by several."
        )
    with no_grad():
        value = held() if leave_parametrized else held.original
    origin = getattr(held, held._names()[0])
    del module.parametrizations[tensor_name]
    delattr(type(module), tensor_name)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._parametrized_from  # type: ignore[attr-defined]
    if isinstance(origin, Parameter):
        module.register_parameter(tensor_name, Parameter(value, requires_grad=origin.requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    return module


__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]
