"""Hooks of modules: functions called before and after a forward, and with the gradients of a module."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mpigrad._ops._define.operator import Operator

from ..._core.node import RemovableHandle
from ..._graph.grad_mode import MODE
from ..._tensor import Tensor

if TYPE_CHECKING:
    from .module import Module


class ModuleHandle(RemovableHandle):
    """Removes a hook of a module, and its entries in the tables of options (`with_kwargs`, `always_call`)."""

    def __init__(self, hooks: dict[int, Any], *notes: dict[int, bool]) -> None:
        super().__init__(hooks)
        self._notes = notes

    def remove(self) -> None:
        """Remove the hook; no effect the second time."""
        super().remove()
        for note in self._notes:
            note.pop(self.id, None)


def add_hook(
    hooks: Any, hook: Callable[..., Any], prepend: bool = False, **notes: tuple[dict[int, bool], bool]
) -> ModuleHandle:
    """Add a hook after the others, or before them with `prepend`; returns the handle that removes it.

    `notes` are pairs (table, flag): the hook gets an entry in the table of an option if the flag is true.
    """
    handle = ModuleHandle(hooks, *(table for table, _ in notes.values()))
    hooks[handle.id] = hook
    for table, wanted in notes.values():
        if wanted:
            table[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class GlobalHooks:
    """The hooks that are called for all modules."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, Any] = OrderedDict()
        self.forward: OrderedDict[int, Any] = OrderedDict()
        self.forward_with_kwargs: dict[int, bool] = {}
        self.forward_always: dict[int, bool] = {}
        self.backward_pre: OrderedDict[int, Any] = OrderedDict()
        self.backward: OrderedDict[int, Any] = OrderedDict()
        self.parameter: OrderedDict[int, Any] = OrderedDict()
        self.buffer: OrderedDict[int, Any] = OrderedDict()
        self.module: OrderedDict[int, Any] = OrderedDict()
        # not empty if there is any hook of a forward or backward: all that `Module.__call__` checks
        self.around_call: dict[str, bool] = {}

    def refresh(self) -> None:
        """Update the flag that tells `Module.__call__` whether any hook is to be called around forwards."""
        self.around_call.clear()
        if self.forward_pre or self.forward or self.backward_pre or self.backward:
            self.around_call["any"] = True


GLOBAL = GlobalHooks()


class GlobalHandle(ModuleHandle):
    """Removes a hook that is called for all modules."""

    def remove(self) -> None:
        """Remove the hook; no effect the second time."""
        super().remove()
        GLOBAL.refresh()


def add_global_hook(hooks: dict[int, Any], hook: Callable[..., Any]) -> GlobalHandle:
    """Add a hook that is called for all modules."""
    handle = GlobalHandle(hooks)
    hooks[handle.id] = hook
    GLOBAL.refresh()
    return handle


# -- a call with hooks -------------------------------------------------------------------------------------------
def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module that has hooks, or for which there are global hooks."""
    called: set[int] = set()
    result = None
    try:
        args, kwargs = _before_forward(module, args, kwargs)
        gradients = _gradient_hooks(module)
        if gradients is not None:
            args = gradients.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        result = _after_forward(module, args, kwargs, result, called)
        if gradients is not None:
            result = gradients.watch_outputs(result)
        _watch_last_node(module, args, result)
        return result
    except Exception:
        _call_always_hooks(module, args, kwargs, result, called)
        raise


def _before_forward(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for key, hook in [*GLOBAL.forward_pre.items(), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward_hooks(module: Module) -> Iterator[tuple[int, Any, bool, bool]]:
    for key, hook in list(GLOBAL.forward.items()):
        yield key, hook, key in GLOBAL.forward_with_kwargs, key in GLOBAL.forward_always
    for key, hook in list(module._forward_hooks.items()):
        yield key, hook, key in module._forward_hooks_with_kwargs, key in module._forward_hooks_always_called


def _after_forward(module: Module, args: Any, kwargs: Any, result: Any, called: set[int]) -> Any:
    for key, hook, with_kwargs, _ in _forward_hooks(module):
        called.add(key)
        changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if changed is not None:
            result = changed
    return result


def _call_always_hooks(module: Module, args: Any, kwargs: Any, result: Any, called: set[int]) -> None:
    """After an error, call those hooks with `always_call` that have not been called."""
    for key, hook, with_kwargs, always in _forward_hooks(module):
        if always and key not in called:
            try:
                hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            except Exception as error:  # report the first error
                warnings.warn(
                    f"forward hook with ``always_call=True`` raised an exception that was silenced: {error}",
                    stacklevel=2,
                )


# -- gradients of a module ---------------------------------------------------------------------------------------
def _pass_on(*arrays: Any) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


def _pass_back(F: Any, node: Any, g: Any) -> Any:
    return tuple(g) if isinstance(g, list) else g


_boundary = Operator("backward_hook", _pass_on, _pass_back, (), "BackwardHookFunctionBackward")


def _gradient_hooks(module: Module) -> GradientHooks | None:
    pre = [*GLOBAL.backward_pre.values(), *module._backward_pre_hooks.values()]
    post = list(GLOBAL.backward.values())
    if module._is_full_backward_hook is not False:
        post += module._backward_hooks.values()
    return GradientHooks(module, pre, post) if pre or post else None


class GradientHooks:
    """Two graph nodes around a module's forward: one that all its inputs pass through, one that all its outputs pass
    through.

    They give a module's backward hooks the gradients of all inputs and outputs together.
    """

    def __init__(self, module: Module, pre: list[Any], post: list[Any]) -> None:
        self.module, self.pre, self.post = module, pre, post
        self.inputs: list[int] | None = None  # positions of the tensors among the arguments; None: they need no gradient
        self.n_inputs = 0
        self.grad_outputs: tuple[Any, ...] | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass the arguments through a node, which records the gradients of the inputs."""
        self.n_inputs = len(args)
        args, node, places = _through_boundary(args)
        if node is not None:
            self.inputs = places
            node.register_hook(self._gradients_arrived)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """Pass the results through a node, which records the gradients of the outputs."""
        many = isinstance(result, tuple)
        if not many and not isinstance(result, Tensor):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
        results, node, places = _through_boundary(result if many else (result,))
        if node is not None:
            total = len(results)
            node.register_prehook(lambda given: self._outputs_arrived(given, places, total))
        return results if many else results[0]

    def _outputs_arrived(self, given: tuple[Any, ...], places: list[int], total: int) -> Any:
        grads = _spread(given, places, total)
        for hook in self.pre:
            grads = _replaced(grads, hook(self.module, grads), "Backward pre hook", "grad_output")
        self.grad_outputs = grads
        if self.inputs is None:
            for hook in self.post:
                if hook(self.module, (None,) * self.n_inputs, grads) is not None:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None "
                        "for all gradients."
                    )
            self.grad_outputs = None
        return tuple(grads[place] for place in places)

    def _gradients_arrived(self, made: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        assert self.inputs is not None
        if self.grad_outputs is None:  # the module was recomputed: no gradient has passed the node of its outputs
            return None
        grads = _spread(made, self.inputs, self.n_inputs)
        for hook in self.post:
            grads = _replaced(grads, hook(self.module, grads, self.grad_outputs), "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple(grads[place] for place in self.inputs)


def _replaced(grads: tuple[Any, ...], changed: Any, hook: str, what: str) -> tuple[Any, ...]:
    """The result of a hook as a tuple, or the given gradients if it is None."""
    if changed is None:
        return grads
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(grads):
        raise RuntimeError(f"{hook} returned an invalid number of {what}, got {len(changed)}, but expected {len(grads)}")
    return changed


def _spread(values: tuple[Any, ...], places: list[int], total: int) -> tuple[Any, ...]:
    spread: list[Any] = [None] * total
    for place, value in zip(places, values):
        spread[place] = value
    return tuple(spread)


def _through_boundary(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """Pass the tensors among `values` through one node; the node is None if they need no gradient."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not MODE.enabled or not any(values[place]._requires for place in places):
        return values, None, places
    passed = _boundary(*(values[place] for place in places))
    passed = passed if isinstance(passed, tuple) else (passed,)
    replaced = list(values)
    for place, tensor in zip(places, passed):
        replaced[place] = tensor
    return tuple(replaced), next(each for each in passed if each._grad_fn is not None)._grad_fn, places


def _watch_last_node(module: Module, args: tuple[Any, ...], result: Any) -> None:
    """Call the deprecated hooks of `register_backward_hook`, which see only the last operation of the module."""
    if module._is_full_backward_hook is not False or not module._backward_hooks:
        return
    found = result
    while not isinstance(found, Tensor):
        found = next(iter(found.values())) if isinstance(found, dict) else found[0]
    node = found.grad_fn
    if node is not None:
        for hook in module._backward_hooks.values():
            node.register_hook(lambda made, given, hook=hook: hook(module, made, given))


def every(*tables: dict[int, Any]) -> Iterator[Any]:
    """All hooks of several tables, in the order of the tables."""
    return itertools.chain.from_iterable(list(table.values()) for table in tables)
