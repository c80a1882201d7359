"""A module's state as a dictionary: `state_dict`, and `load_state_dict`, which also accepts tensors of PyTorch and NumPy arrays.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._core.tensor import wrap
from ..._graph.grad_mode import no_grad
from ..._ops._define.foreign import of_torch
from ..._ops.create.create import as_tensor
from ..._tensor import Tensor, counter
from ..parameter import Parameter
from ._hooks import every
from ._members import Members

if TYPE_CHECKING:
    from .module import Module

EXTRA = "_extra_state"
ONLY_CHECK = "only_check"  # in the metadata for `_load_from_state_dict`: report errors, load nothing


class _IncompatibleKeys(NamedTuple("IncompatibleKeys", [("missing_keys", list), ("unexpected_keys", list)])):
    __slots__ = ()

    def __repr__(self) -> str:
        return (
            "<All keys matched successfully>"
            if not self.missing_keys and not self.unexpected_keys
            else super().__repr__()
        )

    __str__ = __repr__


def gather(module: Module, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Add the state of a module and of its submodules to `destination` (None: a new dictionary) and return it."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    notes = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = notes
    for hook in every(module._state_dict_pre_hooks):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
    for hook in every(module._state_dict_hooks):
        changed = hook(module, destination, prefix, notes)
        # as in PyTorch: hooks of the public method must return None, those of the older private one may replace the
        # state
        if getattr(hook, "_from_public_api", False):
            if changed is not None:
                raise RuntimeError("state_dict post-hook must return None")
        elif changed is not None:
            destination = changed
    return destination


def save_own(module: Module, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Write a module's own parameters, buffers and extra state to `destination`."""
    for name, value in module._parameters.items():
        if value is not None:
            destination[prefix + name] = value if keep_vars else _detached(value)
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            destination[prefix + name] = buffer if keep_vars else _detached(buffer)
    if _has_extra_state(module):
        destination[prefix + EXTRA] = module.get_extra_state()


def _detached(value: Tensor) -> Tensor:
    """A detached alias that shares the version counter of the original."""
    made = wrap(value._array)
    made._counter = counter(value)
    return made


def _has_extra_state(module: Module) -> bool:
    return type(module).get_extra_state is not Members.get_extra_state


def check(module: Module, state_dict: Mapping[str, Any]) -> None:
    """Raise the errors that a strict `load_state_dict` would raise, without changing anything."""
    load(module, state_dict, strict=True, assign=False, only_check=True)


def load(
    module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool, only_check: bool = False
) -> _IncompatibleKeys:
    """Copy (or assign) the entries of `state_dict` into a module and its submodules."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None)
    # a copy, because hooks of modules may change it
    state_dict = OrderedDict(state_dict)
    if metadata is not None:
        state_dict._metadata = metadata  # type: ignore[attr-defined]
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []

    def descend(one: Module, entries: Any, prefix: str) -> None:
        notes = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            notes["assign_to_params_buffers"] = True
        if only_check:
            notes = {**notes, ONLY_CHECK: True}
        one._load_from_state_dict(entries, prefix, notes, True, missing, unexpected, errors)
        for name, child in one._modules.items():
            if child is not None:
                below = prefix + name + "."
                # a module sees the entries below its own path only, so that its checks do not report those of others
                descend(child, {key: value for key, value in entries.items() if key.startswith(below)}, below)
        found = _IncompatibleKeys(missing, unexpected)
        for hook in () if only_check else every(one._load_state_dict_post_hooks):
            if hook(one, found) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values."
                )

    descend(module, state_dict, "")
    if strict:
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    if errors:
        said = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{said}")
    return _IncompatibleKeys(missing, unexpected)


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def load_own(
    module: Module,
    state_dict: Any,
    prefix: str,
    notes: dict[str, Any],
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Copy the entries of `state_dict` at `prefix` into a module's own parameters and buffers.

    Names that are missing, or that the module does not have, and errors are appended to the three lists.
    """
    for hook in every(module._load_state_dict_pre_hooks):
        hook(state_dict, prefix, notes, strict, missing, unexpected, errors)
    lasting = {name: value for name, value in module._buffers.items() if name not in module._non_persistent_buffers_set}
    own = {name: value for name, value in {**module._parameters, **lasting}.items() if value is not None}
    assign, only_check = notes.get("assign_to_params_buffers", False), notes.get(ONLY_CHECK, False)
    for name, value in own.items():
        key = prefix + name
        if key in state_dict:
            _take(module, name, key, value, state_dict[key], assign, errors, only_check)
        elif strict:
            missing.append(key)
    if _has_extra_state(module):
        if prefix + EXTRA in state_dict and not only_check:
            module.set_extra_state(state_dict[prefix + EXTRA])
        elif strict and prefix + EXTRA not in state_dict:
            missing.append(prefix + EXTRA)
    elif strict and prefix + EXTRA in state_dict:
        unexpected.append(prefix + EXTRA)
    if strict:
        unexpected.extend(key for key in state_dict if _is_unexpected(module, key, prefix, own))


def _is_unexpected(module: Module, key: str, prefix: str, own: dict[str, Any]) -> bool:
    if not key.startswith(prefix) or key == prefix + EXTRA:
        return False
    first, *more = key[len(prefix) :].split(".", 1)
    return first not in module._modules if more else first not in own


def _take(
    module: Module, name: str, key: str, value: Tensor, given: Any, assign: bool, errors: list[str], only_check: bool
) -> None:
    if of_torch(given):
        given = as_tensor(given.detach())
    elif isinstance(given, np.ndarray):
        given = as_tensor(given)
    if not isinstance(given, Tensor):
        errors.append(
            f'While copying the parameter named "{key}", expected mpigrad.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
        return
    array = given._array
    if value._array.ndim == 0 and array.shape == (1,):  # scalars were once saved with one dimension
        array = array.reshape(())
    if array.shape != value._array.shape:
        errors.append(
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {value.shape}."
        )
        return
    if only_check:
        return
    try:
        if assign:
            _assign(module, name, value, given)
        else:
            with no_grad():
                value.copy_(wrap(array))
    except Exception as error:
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {value.shape} and whose '
            f"dimensions in the checkpoint are {given.shape}, an exception occurred : {error.args}."
        )


def _assign(module: Module, name: str, value: Tensor, given: Tensor) -> None:
    if isinstance(value, Parameter):
        if not isinstance(given, Parameter):
            given = Parameter(given, requires_grad=value._requires)
        else:
            given.requires_grad_(value._requires)
    setattr(module, name, given)
