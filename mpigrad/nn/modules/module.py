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
        """Compute the output; every subclass defines its own `forward`. Call the module, not `forward`: only
        `module(...)` runs hooks.
        """
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
        """All parameters and persistent buffers of this module and its submodules, as a dictionary by dotted path.

        The tensors share memory with the module. `prefix` is put before the paths; `destination` is a dictionary to
        fill. The tensors are detached, unless `keep_vars=True`.
        """
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])[:3]
        return gather(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of a `state_dict` into the module; returns the named tuple (missing_keys,
        unexpected_keys).

        - `state_dict`: values may be tensors of mpigrad or PyTorch, or NumPy arrays.
        - `strict`: raise a RuntimeError if keys are missing or unexpected. Other shapes than the module's always
          raise one.
        - `assign`: use the given tensors themselves instead of copying their values.
        """
        return load(self, state_dict, strict, assign)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(self, *args: Any) -> None:
        load_own(self, *args)

    # -- hooks -------------------------------------------------------------------------------------------------------
    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> ModuleHandle:
        """Call `hook(module, args)` before every forward; a result other than None replaces the arguments.

        `with_kwargs`: the hook gets `(module, args, kwargs)` and returns a pair of both, or None. `prepend`: call it
        before the other hooks. Returns a handle, whose `remove()` removes the hook.
        """
        return add_hook(
            self._forward_pre_hooks, hook, prepend, kwargs=(self._forward_pre_hooks_with_kwargs, with_kwargs)
        )

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> ModuleHandle:
        """Call `hook(module, args, output)` after every forward; a result other than None replaces the output.

        `with_kwargs`: the hook gets `(module, args, kwargs, output)`. `always_call`: call it also if the forward
        raises an error. `prepend`: call it before the other hooks. Returns a handle, whose `remove()` removes the
        hook.
        """
        kwargs = (self._forward_hooks_with_kwargs, with_kwargs)
        return add_hook(
            self._forward_hooks, hook, prepend, kwargs=kwargs, always=(self._forward_hooks_always_called, always_call)
        )

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> ModuleHandle:
        """Call `hook(module, grad_output)` in the backward pass, before gradients flow through the module.

        `grad_output` is a tuple with the gradient of each output; a result other than None replaces it. Returns a handle,
        whose `remove()` removes the hook. `prepend`: call it before the other hooks.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> ModuleHandle:
        """Call `hook(module, grad_input, grad_output)` in the backward pass, when the gradients of the module's
        inputs are known.

        Both are tuples, with None for tensors without gradient; a result other than None replaces `grad_input`. Returns a
        handle, whose `remove()` removes the hook. `prepend`: call it before the other hooks.
        """
        self._use_backward_hooks(full=True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> ModuleHandle:
        """Deprecated: add a hook that sees only the gradients of the module's last operation; use
        `register_full_backward_hook`.
        """
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
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects the module's state. Returns a handle
        with `remove()`.
        """
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` has collected the module's
        state.

        The hook may change `state_dict` in place and must return None. Returns a handle with `remove()`.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> ModuleHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered."
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before the module loads its entries; the hook may change `state_dict` and the lists. Returns a handle with
        `remove()`.
        """
        return add_hook(self._load_state_dict_pre_hooks, _WithModule(hook, self))

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> ModuleHandle:
        return add_hook(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> ModuleHandle:
        """Call `hook(module, incompatible_keys)` after the module has loaded its entries.

        `incompatible_keys` has the lists `missing_keys` and `unexpected_keys`; clearing them prevents the error of
        `strict`. Returns a handle with `remove()`.
        """
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- printing ----------------------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text in parentheses in the module's `repr`, usually its settings; subclasses may define it."""
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
    """Call `hook(module, args)` before the forward of every module of this process; a result other than None replaces
    the arguments.

    Returns a handle, whose `remove()` removes the hook.
    """
    return add_global_hook(GLOBAL.forward_pre, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> ModuleHandle:
    """Call `hook(module, args, output)` after the forward of every module of this process; a result other than None
    replaces the output.

    `with_kwargs` and `always_call` are those of `Module.register_forward_hook`. Returns a handle, whose `remove()`
    removes the hook.
    """
    handle = add_global_hook(GLOBAL.forward, hook)
    handle._notes = (GLOBAL.forward_with_kwargs, GLOBAL.forward_always)
    if with_kwargs:
        GLOBAL.forward_with_kwargs[handle.id] = True
    if always_call:
        GLOBAL.forward_always[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, grad_output)` before gradients flow through any module; see
    `Module.register_full_backward_pre_hook`.
    """
    return add_global_hook(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, grad_input, grad_output)` after gradients have passed any module; see
    `Module.register_full_backward_hook`.
    """
    return add_global_hook(GLOBAL.backward, hook)


def register_module_parameter_registration_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, name, param)` when any module gets a parameter; a result other than None replaces it.
    Returns a handle with `remove()`.
    """
    return add_global_hook(GLOBAL.parameter, hook)


def register_module_buffer_registration_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, name, buffer)` when any module gets a buffer; a result other than None replaces it. Returns
    a handle with `remove()`.
    """
    return add_global_hook(GLOBAL.buffer, hook)


def register_module_module_registration_hook(hook: Hook) -> ModuleHandle:
    """Call `hook(module, name, submodule)` when any module gets a submodule; a result other than None replaces it.
    Returns a handle with `remove()`.
    """
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
