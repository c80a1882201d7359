"""`Module`: the base class of everything that has parameters and a `forward`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ._hooks import GLOBAL, ModuleHandle, add_global_hook, add_hook, call_with_hooks
from ._moving import Moving
from ._state import _IncompatibleKeys, gather, load, load_own, save_own

Hook = Callable[..., Any]
_AROUND_ALL = GLOBAL.around_call


class Module(Moving):
    """Base class of all modules: assign parameters and modules to attributes, and define `forward`.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> Twice()
    Twice(
      (layer): Linear(in_features=2, out_features=2, bias=True)
    )
    """

    dump_patches = False
    _version = 1
    training: bool
    call_super_init = False

    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        set_plainly = object.__setattr__
        set_plainly(self, "training", True)
        set_plainly(self, "_is_full_backward_hook", None)
        self._make_tables()
        for name in _HOOK_TABLES:
            set_plainly(self, name, OrderedDict())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every subclass defines its own `forward`."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _AROUND_ALL
        ):
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_TABLES:
            if name not in self.__dict__:
                object.__setattr__(self, name, OrderedDict())

    # -- state -------------------------------------------------------------------------------------------------------
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by path; they share memory with the module."""
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])[:3]
        return gather(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of a `state_dict` into the module; with `strict`, its paths must be exactly those of `state_dict()`."""
        return load(self, state_dict, strict, assign)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(self, *args: Any) -> None:
        load_own(self, *args)

    # -- hooks -------------------------------------------------------------------------------------------------------
    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> ModuleHandle:
        """Call `hook(module, args)` before every forward; a result other than None replaces the arguments."""
        return add_hook(
            self._forward_pre_hooks, hook, prepend, kwargs=(self._forward_pre_hooks_with_kwargs, with_kwargs)
        )

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> ModuleHandle:
        """Call `hook(module, args, output)` after every forward; a result other than None replaces the output."""
        kwargs = (self._forward_hooks_with_kwargs, with_kwargs)
        return add_hook(
            self._forward_hooks, hook, prepend, kwargs=kwargs, always=(self._forward_hooks_always_called, always_call)
        )

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> ModuleHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known; a result other than None replaces them.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> ModuleHandle:
        """Call `hook(module, grad_input, grad_output)` after every backward; a result other than None replaces `grad_input`."""
        self._use_backward_hooks(full=True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> ModuleHandle:
        """Register a deprecated hook, which sees only the last operation of the module; use `register_full_backward_hook`."""
        self._use_backward_hooks(full=False)
        return add_hook(self._backward_hooks, hook)

    def _use_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full

    def register_state_dict_pre_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, prefix, keep_vars)` before the state of the module is collected."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state of the module was collected."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> ModuleHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered."
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, state_dict, prefix, ...)` before the module loads its entries."""
        return add_hook(self._load_state_dict_pre_hooks, _WithModule(hook, self))

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> ModuleHandle:
        return add_hook(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, incompatible_keys)` after the module has loaded its entries; the hook may change the lists."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- printing ----------------------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text in parentheses in the module's `repr`."""
        return ""

    def __repr__(self) -> str:
        own = self.extra_repr()
        lines = own.split("\n") if own else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({own})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


_HOOK_TABLES = [name for name in Module.__annotations__ if "_hooks" in name]


class _WithModule:
    """A hook that gets its module as the first argument."""

    def __init__(self, hook: Hook, module: Module) -> None:
        self.hook, self.module = hook, module

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module, *args)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def register_module_forward_pre_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return add_global_hook(GLOBAL.forward_pre, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> ModuleHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    handle = add_global_hook(GLOBAL.forward, hook)
    handle._notes = (GLOBAL.forward_with_kwargs, GLOBAL.forward_always)
    if with_kwargs:
        GLOBAL.forward_with_kwargs[handle.id] = True
    if always_call:
        GLOBAL.forward_always[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return add_global_hook(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return add_global_hook(GLOBAL.backward, hook)


def register_module_parameter_registration_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, name, param)` when any module gets a parameter."""
    return add_global_hook(GLOBAL.parameter, hook)


def register_module_buffer_registration_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, name, buffer)` when any module gets a buffer."""
    return add_global_hook(GLOBAL.buffer, hook)


def register_module_module_registration_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, name, submodule)` when any module gets a module."""
    return add_global_hook(GLOBAL.module, hook)


__all__ = [
    "Module",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
