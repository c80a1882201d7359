"""Iteration over the members of a module and of its submodules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mpigrad._ops.tensor.zero_grad import clear_grad

from ..._tensor import Tensor
from ..parameter import Parameter
from ._members import Members

if TYPE_CHECKING:
    from typing_extensions import Self

    from .module import Module


class Traversal(Members):
    """The part of `Module` that lists parameters, buffers and modules."""

    def _named_members(
        self, get: Callable[[Any], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get(module):
                if value is None or remove_duplicate and id(value) in seen:
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters of this module and, with `recurse`, of its submodules; each is given once."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over pairs (path, parameter), such as ("encoder.weight", ...); each parameter is given once.

        `prefix` is put before the paths. `recurse=False` leaves out submodules. `remove_duplicate=False` gives a
        parameter again under each of its paths.
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers of this module and, with `recurse`, of its submodules; each is given once."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over pairs (path, buffer). The arguments are those of `named_parameters`."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Iterate over the direct submodules; each is given once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over pairs (name, module) of the direct submodules."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over this module and all modules below it; each is given once, unless `remove_duplicate=False`."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over pairs (path, module) of this module (its path is `prefix`) and of all modules below it.

        `memo` is a set of modules to leave out. With `remove_duplicate=False` a module is given under each of its
        paths.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn(module)` for each submodule, then for this module, which is returned; often used to initialise
        parameters.
        """
        for module in self.children():
            module.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and all its submodules to training mode, or with `mode=False` to evaluation mode; returns
        the module.

        The mode (the attribute `training`) matters to modules such as `Dropout` and `BatchNorm`.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and all its submodules to evaluation mode (`train(False)`); returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters, for example False to freeze them; returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros with `set_to_none=False`."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)
