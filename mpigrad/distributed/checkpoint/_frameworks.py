"""Modules and optimizers of PyTorch in checkpoints: files contain mpigrad's tensors, which are converted when saving and loading.

So a checkpoint does not depend on the library: a model trained with torch can be loaded into mpigrad's modules of the same names.
torch is never imported here: if the program has not imported it, no object can be torch's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mpigrad._array.dtype import bfloat16
from mpigrad._ops._define.foreign import is_torch_module, of_torch
from mpigrad._ops.create.create import as_tensor
from mpigrad._tensor import Tensor
from mpigrad.nn import Module
from mpigrad.nn.modules._state import check as check_module
from mpigrad.optim import Optimizer
from mpigrad.optim._layout import check_groups, load_state


def _torch() -> Any:
    return sys.modules.get("torch")


def is_module(thing: Any) -> bool:
    """Return whether an object is a module of mpigrad or of torch."""
    return isinstance(thing, Module) or is_torch_module(thing)


def is_optimizer(thing: Any) -> bool:
    """Return whether an object is an optimizer of mpigrad or of torch."""
    return isinstance(thing, Optimizer) or _torch() is not None and isinstance(thing, _torch().optim.Optimizer)


def state_of(thing: Any) -> tuple[Any, bool]:
    """Return the state of an object, with mpigrad's tensors, and whether it had tensors of torch."""
    state, found = thing.state_dict(), False

    def convert(value: Any) -> Any:
        nonlocal found
        found = True
        return as_tensor(value.detach().cpu())

    return (state if _torch() is None else _mapped(state, of_torch, convert)), found


def load_into(thing: Any, state: Any, torch_tensors: bool) -> None:
    """Load a state into an object; with `torch_tensors`, its tensors are converted to torch's first."""
    thing.load_state_dict(_mapped(state, lambda value: isinstance(value, Tensor), _to_torch) if torch_tensors else state)


def needs_torch(thing: Any) -> bool:
    """Return whether an object is a module or optimizer of torch."""
    return not isinstance(thing, (Module, Optimizer)) and (is_module(thing) or is_optimizer(thing))


def _to_torch(value: Tensor) -> Any:
    torch, array = _torch(), value.detach().cpu()._array
    if value.dtype is bfloat16:  # torch does not know NumPy's bfloat16, but its bits are the same
        return torch.from_numpy(array.view("i2")).view(torch.bfloat16)
    return torch.from_numpy(array)


def _mapped(value: Any, chosen: Callable[[Any], bool], convert: Callable[[Any], Any]) -> Any:
    """Return a state in which the values for which `chosen` is true are converted.

    Containers without such values are returned unchanged.
    """
    if chosen(value):
        return convert(value)
    if isinstance(value, dict):
        made = {key: _mapped(each, chosen, convert) for key, each in value.items()}
        if all(each is value[key] for key, each in made.items()):
            return value
        same = type(value)()
        same.update(made)
        if hasattr(value, "_metadata"):
            vars(same)["_metadata"] = value._metadata
        return same
    if type(value) in (list, tuple):
        items = [_mapped(each, chosen, convert) for each in value]
        return value if all(one is other for one, other in zip(items, value)) else type(value)(items)
    return value


def check(thing: Any, state: Any) -> None:
    """Raise the errors that loading a state would raise, without changing the object.

    Only modules and optimizers are checked.
    """
    if isinstance(thing, Module):
        check_module(thing, state)
    elif is_module(thing):
        _check_torch_module(thing, state)
    elif isinstance(thing, Optimizer):
        load_state(state, thing.param_groups)
    elif is_optimizer(thing):
        check_groups(state, thing.param_groups)


def _check_torch_module(module: Any, state: Any) -> None:
    own = module.state_dict()
    errors = [f'Missing key(s) in state_dict: "{key}". ' for key in own if key not in state]
    errors += [f'Unexpected key(s) in state_dict: "{key}". ' for key in state if key not in own]
    for key, value in own.items():
        if key in state and of_torch(value) and tuple(value.shape) != tuple(getattr(state[key], "shape", ())):
            errors.append(
                f"size mismatch for {key}: copying a param with shape {getattr(state[key], 'shape', None)} from checkpoint, the "
                f"shape in current model is {value.shape}."
            )
    if errors:
        said = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{said}")
