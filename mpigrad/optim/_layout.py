"""The format in which an optimizer's state is saved: parameters are numbered consecutively over all groups."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .._array.device import device_of, move
from .._core.tensor import wrap
from .._tensor import Tensor

Groups = list[dict[str, Any]]


def saved_state(state: Any, groups: Groups) -> dict[str, Any]:
    """Convert state and parameter groups for saving: parameters are replaced by their numbers."""
    numbers: dict[int, int] = {}
    packed = []
    for group in groups:
        for parameter in group["params"]:
            numbers.setdefault(id(parameter), len(numbers))
        shown = {key: value for key, value in group.items() if key != "params"}
        packed.append({**shown, "params": [numbers[id(parameter)] for parameter in group["params"]]})
    named = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in state.items()}
    return {"state": named, "param_groups": packed}


def check_groups(saved: dict[str, Any], groups: Groups) -> None:
    """Raise PyTorch's errors unless a saved state has the same numbers of groups and of parameters in each group."""
    given = saved["param_groups"]
    if len(groups) != len(given):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(ours["params"]) != len(theirs["params"]) for ours, theirs in zip(groups, given)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )


def load_state(saved: dict[str, Any], groups: Groups) -> tuple[Any, Groups]:
    """Convert a saved state and groups for loading: numbers are replaced by this optimizer's parameters."""
    check_groups(saved, groups)
    given = saved["param_groups"]
    ours_by_number = {
        number: parameter
        for ours, theirs in zip(groups, given)
        for number, parameter in zip(theirs["params"], ours["params"])
    }
    state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
    for key, value in saved["state"].items():
        parameter = ours_by_number.get(key)
        state[key if parameter is None else parameter] = value if parameter is None else _fitted(value, parameter)
    made = [{**theirs, "params": ours["params"]} for ours, theirs in zip(groups, given)]
    for ours, new in zip(groups, made):
        if "param_names" in ours:
            new["param_names"] = ours["param_names"]
    return state, made


def _fitted(value: Any, parameter: Tensor, key: str | None = None) -> Any:
    if isinstance(value, Tensor):
        return value if key == "step" else to_parameter(value, parameter)
    if isinstance(value, dict):
        return {name: _fitted(each, parameter, name) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(each, parameter) for each in value)
    return value


def to_parameter(value: Tensor, parameter: Tensor) -> Tensor:
    """State on the device of its parameter and, if it is floating-point, of the parameter's type."""
    array = value._array
    if getattr(array, "is_sparse_array", False):
        return value
    if parameter._array.dtype.kind == "f" and array.dtype.kind == "f":
        array = array.astype(parameter._array.dtype, copy=False)
    return wrap(move(array, device_of(parameter._array)))
