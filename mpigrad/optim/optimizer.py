"""`Optimizer`: parameter groups, state, and a step that updates every parameter in place.

An optimizer implements in `_dense` the update of one parameter, on plain arrays, in place and without allocation: `self._blocks`
cuts large parameters into pieces that fit into the cache, `self._room` provides scratch arrays. Sparse gradients are passed to
`_sparse`, which raises an error unless an optimizer can update only the affected rows.
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._array.device import array_module, guard
from .._core.node import RemovableHandle
from .._core.tensor import wrap
from .._graph.grad_mode import enable_grad
from .._kernels.steps import followed, step_many
from .._kernels.table import alike
from .._ops._define.foreign import of_torch
from .._ops._define.narrow import narrowed, widened
from .._ops.tensor.zero_grad import clear_grad
from .._tensor import Tensor, counter
from ._layout import load_state, saved_state
from ._real import as_complex, as_real, real_view
from ._settings import Group, check_together

BLOCK = 1 << 15  # elements; a few float32 arrays of this length fit into the second-level cache
ndarray = np.ndarray
Closure = Callable[[], Any]

_PRE: OrderedDict[int, Any] = OrderedDict()
_POST: OrderedDict[int, Any] = OrderedDict()
_SINGLE = ("eta", "mu", "mu_product", "step")  # numbers in a parameter's state: float32 for all types


def _add(hooks: Any, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer. Returns a handle, whose `remove()`
    removes it.
    """
    return _add(_PRE, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer. Returns a handle, whose `remove()`
    removes it.
    """
    return _add(_POST, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """The method `step` with calls of the step hooks before and after it."""
    if getattr(step, "_is_hooked", False):
        return step

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        pre, post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (pre or post or _PRE or _POST):
            return step(self, *args, **kwargs)
        args, kwargs = self._run_pre_hooks((self, *args), kwargs)  # hooks get the optimizer as first argument
        out = step(*args, **kwargs)
        for hook in [*post.values(), *_POST.values()]:
            hook(self, args, kwargs)
        return out

    wrapper._is_hooked = True  # type: ignore[attr-defined]
    return wrapper


class Optimizer:
    """Base class of all optimizers, and the arguments that they share.

    - `params`: an iterable of tensors, of pairs (name, tensor), or of dicts (parameter groups), such as `{"params":
      tensors, "lr": 0.1}`, whose settings override the defaults.
    - `lr`: the learning rate, a number or a tensor with one element. `weight_decay`: add this factor times the
      parameter to its gradient.
    - `maximize`: maximise the loss instead.
    - `foreach`, `fused`, `capturable`: accepted for PyTorch's programs; they do not change results.
      `differentiable=True` raises a ValueError.

    `state` maps each parameter to its state, `param_groups` is the list of groups with their settings.
    """

    def __init__(self, params: Any, defaults: Group) -> None:
        check_together(defaults)
        if defaults.get("differentiable"):
            raise ValueError("differentiable=True is not supported: steps of mpigrad's optimizers are not recorded")
        self.defaults = defaults
        self._start()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}"
            )
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def _start(self) -> None:
        self._opt_called = False
        self._scratch: dict[Any, Any] = {}
        for name in _HOOKS:
            setattr(self, name, OrderedDict())

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            # subclasses, also those of users, override `step`; hooks must run around theirs as well
            cls.step = _hooked(cls.__dict__["step"])  # type: ignore[method-assign]

    # -- groups ------------------------------------------------------------------------------------------------------
    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group: a dict with "params" (a tensor or an iterable of tensors) and settings that override
        the defaults.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        named = [isinstance(each, tuple) for each in params]
        if any(named) and not all(named):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if self.param_groups and ("param_names" in self.param_groups[0]) != any(named):
            how = "with" if any(named) else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{how} names to the optimizer"
            )
        if any(named):
            param_group = {"params": None, "param_names": [each[0] for each in params]} | {
                key: value for key, value in param_group.items() if key != "params"
            }
            params = [each[1] for each in params]
        _check_parameters(params)
        if len(params) != len({id(each) for each in params}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        held = {id(each) for group in self.param_groups for each in group["params"]}
        if not held.isdisjoint(id(each) for each in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**param_group, "params": params, **self._missing(param_group)})

    def _missing(self, group: Group) -> Group:
        return {key: value for key, value in self.defaults.items() if key not in group}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros with `set_to_none=False`."""
        for group in self.param_groups:
            for parameter in group["params"]:
                clear_grad(parameter, set_to_none)

    # -- steps -------------------------------------------------------------------------------------------------------
    @_hooked
    def step(self, closure: Closure | None = None) -> Any:
        """Update, in place, all parameters that have a gradient.

        `closure`: a function that computes the loss again and its gradients; it is called first, and its result is
        returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            together: list[Any] = []
            for parameter in group["params"]:
                held = parameter._grad
                if held is not None:
                    grad, state = held._array, self.state[parameter]
                    # the usual case first: a dense gradient on the CPU
                    if grad.__class__ is ndarray:
                        if grad.dtype.kind == "c":
                            self._complex(parameter, grad, state, group)
                        elif grad.dtype.kind == "V":
                            self._narrow(parameter, grad, state, group)
                        else:
                            self._dense(parameter, grad, state, group)
                    elif getattr(grad, "is_sparse_array", False):
                        with guard(grad):
                            self._sparse(parameter, grad, state, group)
                    else:
                        # GPU: collected, so that one launch updates many parameters
                        together.append((parameter, grad, state))
                        continue
                    # `self.state` makes an entry on access; optimizers without state should save none
                    if not state:
                        del self.state[parameter]
                    # nodes that have saved the parameter must detect the change
                    (parameter._counter or counter(parameter))[0] += 1
            if together:
                self._on_gpu(together, group)
        return loss

    _kernel: Any = None  # the GPU kernel of a step; its arguments are `_roles` and `_settings`
    _roles: Callable[..., list[Tensor]]
    _settings: Callable[..., tuple[Any, ...]]

    def _on_gpu(self, many: list[Any], group: Group) -> None:
        """Update parameters on GPUs: one launch for all with the same device, type and settings."""
        launches: dict[Any, list[Any]] = {}
        for parameter, grad, state in many:
            array = parameter._array
            with guard(array):
                if array.dtype.kind == "c":
                    self._complex(parameter, grad, state, group)
                elif array.dtype.kind == "V":
                    self._narrow(parameter, grad, state, group)
                elif self._kernel is None or array.dtype.kind != "f" or not (array.flags.c_contiguous and alike((array, grad))):
                    self._dense(parameter, grad, state, group)
                else:
                    settings = self._settings(parameter, state, group)
                    roles = [array, grad, *(_contiguous(each) for each in self._roles(state))]
                    # settings are kernel arguments; they differ from parameter to parameter if step counts do
                    launches.setdefault((array.device.id, array.dtype, *settings), []).append(roles)
            if not state:
                del self.state[parameter]
            counter(parameter)[0] += 1
        for (_, _, *numbers), arrays in launches.items():
            with guard(arrays[0][0]):
                step_many(self._kernel, arrays, *numbers)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        """Update one parameter with a dense gradient, in place."""
        raise NotImplementedError(f"{type(self).__name__} defines neither step() nor _dense()")

    def _complex(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        """Update one complex parameter: its real and imaginary parts are updated as real elements."""
        seen = {name: as_real(value) if isinstance(value, Tensor) else value for name, value in state.items()}
        self._dense(as_real(parameter), real_view(grad), seen, group)
        for name in seen.keys() - state.keys():
            state[name] = as_complex(seen[name], parameter)

    def _narrow(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        """Update a bfloat16 parameter in float32; it and its state are rounded once per step, as in PyTorch."""
        before = {name: value for name, value in state.items() if isinstance(value, Tensor) and value._array.dtype.kind == "V"}
        seen = {**state, **{name: wrap(widened(value._array)) for name, value in before.items()}}
        wide = wrap(widened(parameter._array))
        self._dense(wide, widened(grad), seen, group)
        parameter._array[...] = wide._array
        for name, value in seen.items():
            if name in before:
                before[name]._array[...] = value._array
            elif isinstance(value, Tensor) and name not in _SINGLE:
                state[name] = wrap(narrowed(value._array))
            else:
                state[name] = value

    def _sparse(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        """Update the rows of one parameter for which a sparse gradient has values."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _room(self, like: Any, slot: int) -> Any:
        """A scratch array with the shape of the given one, valid until the next call with the same slot."""
        # scratch arrays are kept from step to step: allocating them would cost more than small updates
        key: Any = like.shape, like.dtype.num, slot
        if like.__class__ is not ndarray:
            key = *key, like.device.id
        found = self._scratch.get(key)
        if found is None:
            found = self._scratch[key] = array_module(like).empty(like.shape, like.dtype)
        return found

    def _blocks(self, *arrays: Any) -> Iterable[tuple[Any, ...]]:
        """Cut large arrays into pieces that fit into the cache."""
        first = arrays[0]
        if first.size <= BLOCK:
            return (arrays,)
        if first.__class__ is not ndarray or not all(each.flags.c_contiguous for each in arrays):
            return (arrays,)
        return _pieces([each.reshape(-1) for each in arrays])

    def _gradient(self, p: Any, g: Any, group: Group) -> Any:
        """The gradient plus weight decay, negated if `maximize`; the given gradient is not modified."""
        return followed(p, g, group["weight_decay"], group["maximize"], self._room, 0)

    def _decoupled(self, p: Any, g: Any, group: Group, lr: float) -> Any:
        """Like `_gradient`; with `decoupled_weight_decay` the decay is applied to the parameter itself."""
        if not group["decoupled_weight_decay"] or group["weight_decay"] == 0:
            return self._gradient(p, g, group)
        p *= 1 - lr * group["weight_decay"]
        return np.negative(g, out=self._room(g, 0)) if group["maximize"] else g

    # -- state -------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state as a dictionary: "state" by the number of the parameter, and "param_groups" with
        these numbers.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        made = saved_state(self.state, self.param_groups)
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, made)
            made = made if changed is None else changed
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state that `state_dict` returned; tensors are copied to the device and type of their parameters.

        Raises a ValueError if the groups have other sizes.
        """
        state_dict = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        # a deep copy: later steps change the state in place, which must not change the caller's
        self.state, self.param_groups = load_state(copy.deepcopy(state_dict), self.param_groups)
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start()
        self.__dict__.update(state)
        for group in self.param_groups:
            group.update(self._missing(group))

    # -- hooks -------------------------------------------------------------------------------------------------------
    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def _run_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook in [*self._optimizer_step_pre_hooks.values(), *_PRE.values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{type(self).step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        return args, kwargs

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before every step; it may return new arguments, as `(args, kwargs)`.

        Returns a handle, whose `remove()` removes the hook.
        """
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after every step. Returns a handle, whose `remove()` removes the hook.
        """
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict` collects the state. `prepend`: before other hooks. Returns a
        handle with `remove()`.
        """
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; a result other than None replaces the state. Returns
        a handle with `remove()`.

        `prepend`: call it before the other hooks.
        """
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state is loaded; a result other than None replaces it. Returns
        a handle with `remove()`.

        `prepend`: call it before the other hooks.
        """
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state was loaded. `prepend`: before other hooks. Returns a handle with
        `remove()`.
        """
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        shown = f"{type(self).__name__} ("
        for place, group in enumerate(self.param_groups):
            shown += f"\nParameter Group {place}\n"
            shown += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return shown + ")"


_HOOKS = [name for name in Optimizer.__annotations__ if name.endswith("_hooks")]


def _pieces(arrays: list[Any]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, arrays[0].size, BLOCK):
        yield tuple(each[start : start + BLOCK] for each in arrays)


def _contiguous(state: Tensor) -> Any:
    """Convert state to the memory layout that kernels need; only necessary after loading."""
    state._array = array_module(state._array).ascontiguousarray(state._array)
    return state._array


def _check_parameters(params: list[Any]) -> None:
    for each in params:
        if not isinstance(each, Tensor):
            what = "torch's, which torch.optim has optimizers for" if of_torch(each) else type(each).__name__
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {what}")
        if each._grad_fn is not None and not each.retains_grad:
            raise ValueError("can't optimize a non-leaf Tensor")


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]
