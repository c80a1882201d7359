"""The content of a worker's file, and how states are assembled from the files of any workers.

A file is a list of entries, one for each share that its worker has:

    part, share, shares   the name of the part, the number of the share (from 0 on), and the number of all shares of the part
    kind                  "tensors" (of a module), "optimizer", or "other"
    torch                 of an "other": whether its tensors were torch's
    state                 what `state_dict` gave
    dims                  of a `Sharded`: the dimension along which each tensor is cut
    parameters            of an optimizer: for each parameter its name in the checkpoint's modules, the number of its module's
                          share, the dimension along which it is cut (None: it is not) and its shape; None instead of all this
                          for a parameter of no module that is saved

A tensor is found by its name: the part's, a dot, and its name in the module. So a part may be loaded on another worker, from
shares into shares of other sizes, or as part of a larger module.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mpigrad._array.device import device, resolve
from mpigrad._ops.shape.joining import cat
from mpigrad._ops.tensor.serialize import load as load_file
from mpigrad._tensor import Tensor

from ._files import CheckpointError
from ._frameworks import is_module, is_optimizer, needs_torch, state_of
from ._parts import Share, Slice

Entry = dict[str, Any]
Parameter = tuple[str, int, int | None, tuple[int, ...]]  # name, share, dimension that is cut, shape


_KEYS = {"part", "share", "kind", "state"}


class _Piece(NamedTuple):
    """A saved tensor, or a slice of it along the dimension `dim`; None: the whole tensor."""

    tensor: Any
    dim: int | None


def full_name(part: str, key: str) -> str:
    """Return the full name of a tensor, `part.key`; the part "" is a whole model, whose names have no prefix."""
    return f"{part}.{key}" if part else key


# -- writing --------------------------------------------------------------------------------------------------------
def entries_of(shares: list[Share]) -> list[Entry]:
    """Return the entries of this worker's file, one for each of its shares. Runs on each worker."""
    names = _names(shares)
    return [_entry(share, share.state(), names) for share in shares]


def _entry(share: Share, thing: Any, names: dict[int, list[Parameter]]) -> Entry:
    state, torch_tensors = state_of(thing)
    made: Entry = {"part": share.part, "share": share.number, "shares": share.of, "state": state}
    if is_module(thing):
        cut = {key: share.dim_of(key, getattr(value, "ndim", 0)) for key, value in made["state"].items()}
        return made | {"kind": "tensors", "dims": {key: dim for key, dim in cut.items() if dim is not None}}
    if is_optimizer(thing):
        return made | {"kind": "optimizer", "parameters": [names.get(id(each), [None])[0] for each in _parameters(thing)]}
    return made | {"kind": "other", "torch": torch_tensors}


def _parameters(optimizer: Any) -> list[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def _names(shares: list[Share]) -> dict[int, list[Parameter]]:
    """Return the names (full name, share, dimension that is cut, shape) of the parameters of this worker's modules, by `id`."""
    found: dict[int, list[Parameter]] = {}
    for share in shares:
        module = share.state()
        if is_module(module):
            for key, value in module.named_parameters(remove_duplicate=False):
                shape = tuple(value.shape)
                name = full_name(share.part, key), share.number, share.dim_of(key, value.ndim), shape
                found.setdefault(id(value), []).append(name)
    return found


# -- reading --------------------------------------------------------------------------------------------------------
def _if_here(tensor: Any, where: str) -> Any:
    """Return None to load a tensor on the device `where`, or the tensor to keep it on the host: a `map_location`."""
    try:
        resolve(device(where))
    except RuntimeError:  # this worker does not have the device from which the tensor was saved
        return tensor
    return None


class Saved:
    """The entries in the files (or memory) of some workers, and the tensors in them by full name."""

    def __init__(self, shares: Iterable[tuple[str, Iterable[Entry]]]) -> None:
        """`shares` are pairs of a worker's name and its entries."""
        self.entries: list[Entry] = [entry | {"worker": worker} for worker, entries in shares for entry in entries]
        self._pieces: dict[str, list[_Piece]] = {}
        for entry in sorted(self.entries, key=lambda entry: entry["share"]):
            for key, value in entry["state"].items() if entry["kind"] == "tensors" else ():
                piece = _Piece(value, entry["dims"].get(key))
                self._pieces.setdefault(full_name(entry["part"], key), []).append(piece)

    @classmethod
    def in_files(cls, directory: Path, files: Iterable[Mapping[str, Any]]) -> Saved:
        """Return the entries in some files of a checkpoint, given as in the manifest. Tensors are read on first use."""
        return cls((each["worker"], _read(directory, each["name"])) for each in files)

    def of(self, part: str) -> list[Entry]:
        """Return the entries of a part, in the order of shares."""
        return sorted((each for each in self.entries if each["part"] == part), key=lambda each: each["share"])

    def tensor(self, name: str, dim: int | None, part: Slice | None) -> Any:
        """Return a tensor, given by its full name; or its slice `part` along the dimension `dim`."""
        return _joined(name, self._pieces[name], dim, part)

    def keys(self, part: str, wanted: Iterable[str]) -> list[str]:
        """Return the names of a part's tensors in the files.

        These are all names under the part's name; if the part was not saved, those of `wanted` that were saved in other
        parts.
        """
        entries = self.of(part)
        if entries:
            return list(entries[0]["state"])
        return [key for key in wanted if full_name(part, key) in self._pieces]


def _read(directory: Path, file: str) -> list[Entry]:
    return _checked(load_file(str(directory / file), map_location=_if_here, mmap=True), file)


def _checked(content: Any, file: str) -> list[Entry]:
    """Return the entries of a file's content; CheckpointError if it is none of a checkpoint. Converts format 1 (a dict)."""
    if isinstance(content, dict):
        return [_of_format_1(part, state) for part, state in content.items()]
    if not isinstance(content, list) or not all(isinstance(each, dict) and set(each) > _KEYS for each in content):
        raise CheckpointError(f"{file} is not a file of a checkpoint")
    return content


def _of_format_1(part: str, state: Any) -> Entry:
    """Return the entry for a part in a file of format 1, which has only the state."""
    made = {"part": part, "share": 0, "shares": 1, "state": state}
    if isinstance(state, dict) and set(state) == {"state", "param_groups"}:
        return made | {"kind": "optimizer", "parameters": [None] * sum(len(each["params"]) for each in state["param_groups"])}
    tensors = isinstance(state, dict) and all(isinstance(each, Tensor) for each in state.values())
    return made | ({"kind": "tensors", "dims": {}} if tensors else {"kind": "other"})


def _joined(name: str, pieces: list[_Piece], dim: int | None, part: Slice | None) -> Any:
    """Join the saved pieces of a tensor; returns the tensor, or its slice `part` along the dimension `dim`."""
    cut = pieces[0].dim
    if cut is None or len(pieces) == 1:
        whole = pieces[0].tensor
    elif part is None or dim != cut:
        whole = cat([each.tensor for each in pieces], cut)
    else:
        return _overlap(name, [each.tensor for each in pieces], cut, part)
    return whole if part is None or dim is None else _overlap(name, [whole], dim, part)


def _overlap(name: str, tensors: list[Any], dim: int, part: Slice) -> Any:
    """Return the slice `part` of a tensor whose saved slices along `dim` are `tensors`; it may overlap several of them.

    CheckpointError if the whole tensor has another length.
    """
    total = sum(each.shape[dim] for each in tensors)
    if total != part.total:
        raise CheckpointError(
            f"size mismatch for {name}: its slices in the checkpoint make {total} along dimension {dim}, the shares of the "
            f"program {part.total}"
        )
    found, at = [], 0
    for each in tensors:
        low, high = max(part.start, at), min(part.start + part.length, at + each.shape[dim])
        if low < high:
            found.append(each.narrow(dim, low - at, high - low))
        at += each.shape[dim]
    if not found:
        return tensors[0].narrow(dim, 0, 0)
    return found[0] if len(found) == 1 else cat(found, dim)


def states_for(shares: list[Share], saved: Saved, worker: str) -> list[tuple[Any, Any, bool]]:
    """Return, for each share of this worker, its object, the state to load, and whether that needs torch's tensors.

    Runs on each worker. CheckpointError if something is not saved or does not fit.
    """
    names = _names(shares)
    by_part = {(each.part, each.number): each for each in shares}
    made = []
    for share in shares:
        thing = share.state()
        torch_tensors = needs_torch(thing)
        if is_optimizer(thing):
            state = _optimizer_state(share.part, thing, saved, worker, names, by_part)
        elif is_module(thing):
            state = _module_state(share, thing, saved)
        else:
            entry = _other_entry(share, saved, worker)
            # a copy, as the object may take over what it loads, and other shares may load the same entry
            state, torch_tensors = copy.deepcopy(entry["state"]), entry.get("torch", False)
        made.append((thing, state, torch_tensors))
    return made


def _missing(part: str, saved: Saved) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint holds {sorted({each['part'] for each in saved.entries})}, the program has {part!r}, and its tensors "
        "are not saved under other parts either"
    )


def _other_entry(share: Share, saved: Saved, worker: str) -> Entry:
    entries = saved.of(share.part)
    if not entries:
        raise _missing(share.part, saved)
    same = [each for each in entries if each["worker"] == worker] or [each for each in entries if each["share"] == share.number]
    return (same or entries)[0]


def _module_state(share: Share, module: Any, saved: Saved) -> Any:
    entries = saved.of(share.part)
    if len(entries) == 1 and not entries[0].get("dims") and share.dim is None:
        return entries[0]["state"]
    state = module.state_dict()
    made = type(state)()
    for key in saved.keys(share.part, state):
        part = (share.slices or {}).get(key)
        made[key] = saved.tensor(full_name(share.part, key), share.dim_of(key, getattr(state.get(key), "ndim", 0)), part)
    if not made and len(state):
        raise _missing(share.part, saved)
    return made


# -- optimizers -----------------------------------------------------------------------------------------------------
class _SavedParameter(NamedTuple):
    """The saved optimizer state of one parameter, or of one slice of it, and the settings of its group."""

    name: Parameter
    state: dict[str, Any]
    group: dict[str, Any]


def _optimizer_state(
    part: str, optimizer: Any, saved: Saved, worker: str, names: dict[int, list[Parameter]], shares: dict[Any, Share]
) -> Any:
    entries = saved.of(part)
    if not entries:
        raise _missing(part, saved)
    known = _by_name(entries)
    own = [[name for name in names.get(id(each), ()) if name[0] in known] for each in _parameters(optimizer)]
    here = [each for each in entries if each["worker"] == worker]
    if not all(own):
        if len(here) == 1:
            return here[0]["state"]  # parameters are matched by position, as by `load_state_dict`
        raise CheckpointError(
            f"the optimizer {part!r} was saved on {sorted({each['worker'] for each in entries})}, and here it is on {worker} "
            "with parameters whose names are not known: save and load it together with the modules that own them"
        )
    state, groups, number = {}, [], 0
    for group in optimizer.param_groups:
        chosen = [each[0] for each in own[number : number + len(group["params"])]]
        numbers = list(range(number, number + len(chosen)))
        for at, name in zip(numbers, chosen):
            found = _parameter_state(name, known[name[0]], shares)
            if found:
                state[at] = found
        groups.append({**_settings(part, group, [known[name[0]][0] for name in chosen]), "params": numbers})
        number += len(chosen)
    return {"state": state, "param_groups": groups}


def _by_name(entries: list[Entry]) -> dict[str, list[_SavedParameter]]:
    """Return an optimizer's saved parameters by full name: the slices of each, in the order of shares.

    Those that have no name are left out.
    """
    found: dict[str, list[_SavedParameter]] = {}
    for entry in entries:
        groups = entry["state"]["param_groups"]
        numbered = [(number, group) for group in groups for number in group["params"]]
        for (number, group), name in zip(numbered, entry["parameters"]):
            if name is not None:
                one = _SavedParameter(name, entry["state"]["state"].get(number, {}), group)
                found.setdefault(name[0], []).append(one)
    for each in found.values():
        each.sort(key=lambda one: one.name[1])
    return found


def _parameter_state(name: Parameter, saved: list[_SavedParameter], shares: dict[Any, Share]) -> dict[str, Any]:
    """Return the optimizer state of one parameter, made of those that were saved for it or its slices.

    State tensors with the shape of the parameter (such as momentum) are cut as it is; everything else (such as the number
    of steps) is equal in all slices.
    """
    first = next((each for each in saved if each.state), None)
    return {} if first is None else {key: _part_of(name, key, value, saved, shares) for key, value in first.state.items()}


def _part_of(name: Parameter, key: str, value: Any, saved: list[_SavedParameter], shares: dict[Any, Share]) -> Any:
    first = next(each for each in saved if each.state)
    if not isinstance(value, Tensor) or tuple(value.shape) != tuple(first.name[3]):
        return value
    full, number, dim, _ = name
    slices = [
        one
        for (part, at), share in shares.items()
        for each, one in (share.slices or {}).items()
        if at == number and full_name(part, each) == full
    ]
    pieces = [_Piece(each.state[key] if each.state else _zeros(value, each), each.name[2]) for each in saved]
    return _joined(f"{key} of {full}", pieces, dim, slices[0] if slices else None)


def _zeros(like: Any, one: _SavedParameter) -> Any:
    """Return zeros for the state of a slice without state: it never got a gradient, while other slices of the tensor did."""
    return like.new_zeros(tuple(one.name[3]))


def _settings(part: str, group: dict[str, Any], saved: list[_SavedParameter]) -> dict[str, Any]:
    """Return the saved settings of a parameter group, such as `lr`.

    CheckpointError if its parameters were saved with different ones.
    """
    if not saved:
        return dict(group)
    found = [{name: value for name, value in each.group.items() if name not in ("params", "param_names")} for each in saved]
    for each, one in zip(found, saved):
        if each != found[0]:
            raise CheckpointError(
                f"the optimizer {part!r} has {saved[0].name[0]} and {one.name[0]} in one group here; they were saved with "
                f"different settings: {found[0]} and {each}"
            )
    return found[0]
