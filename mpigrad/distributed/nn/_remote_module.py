"""`RemoteModule`: a module that lives on another worker and is called like one that is here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ..._tensor import Tensor
from ...futures import Future
from ...nn import Module
from .. import rpc
from ..rpc import RRef
from ._place import parse
from ._refused import REFUSED, refusal


def _make(module_cls: Callable[..., Module], args: tuple[Any, ...], kwargs: dict[str, Any], place: str) -> Module:
    made = module_cls(*args, **kwargs)
    if not isinstance(made, Module):
        raise ValueError(
            f"Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but it returns {type(made)}."
        )
    return made.to(place) if place != "cpu" else made


def _forward(module: RRef, place: str, mapped: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs on the worker: inputs go to the module's device; so do results to the CPU, unless a device map tells their way."""
    if place == "cpu":
        return module.local_value()(*args, **kwargs)
    moved = _moved((args, kwargs), place)
    result = module.local_value()(*moved[0], **moved[1])
    return result if mapped else _moved(result, "cpu")


def _moved(value: Any, place: str) -> Any:
    if isinstance(value, Tensor):
        return value.to(place)
    if isinstance(value, (list, tuple)):
        parts = [_moved(each, place) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: _moved(each, place) for key, each in value.items()}
    return value


def _parameters(module: RRef, recurse: bool) -> list[RRef]:
    return [RRef(each) for each in module.local_value().parameters(recurse)]


def _call(module: RRef, name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(module.local_value(), name)(*args, **kwargs)


def _quietly(module: RRef, name: str, *args: Any) -> None:
    getattr(module.local_value(), name)(*args)


class RemoteModule(Module):
    """A module made by `module_cls(*args, **kwargs)` on the worker of `remote_device`: "worker1", "worker1/cuda:0", "rank:2/cpu".

    >>> remote = RemoteModule("worker1/cpu", nn.Linear, args=(20, 30))  # doctest: +SKIP
    >>> remote(mpigrad.randn(128, 20)).shape  # doctest: +SKIP
    mpigrad.Size([128, 30])
    """

    on: str | int
    device: str
    module_rref: RRef

    def __init__(
        self, remote_device: str, module_cls: Callable[..., Module], args: Any = None, kwargs: Any = None,
        _module_interface_cls: Any = None,
    ) -> None:
        if not callable(module_cls):
            raise TypeError(f"module_cls must be a class or function that makes a module, not {module_cls!r}")
        on, device = parse(remote_device)
        made = rpc.remote(on, _make, args=(module_cls, tuple(args or ()), dict(kwargs or {}), device))
        self._hold(on, device, made, True)
        self._ask(_exists)  # raises here if the module could not be made there

    def _hold(self, on: str | int, device: str, module_rref: RRef, training: bool) -> None:
        """Refer to a module that is there."""
        Module.__init__(self)
        self.on, self.device, self.module_rref, self.training = on, device, module_rref, training
        self.is_scriptable, self.generated_methods = False, ()
        agent = rpc._get_current_rpc_agent()
        self.is_device_map_set = bool(agent._get_device_map(module_rref.owner()))

    @staticmethod
    def init_from_module_rref(remote_device: str, module_rref: RRef, _module_interface_cls: Any = None) -> RemoteModule:
        """A RemoteModule for a module that is there already."""
        on, device = parse(remote_device)
        if rpc._get_current_rpc_agent().find(on) != module_rref.owner():
            raise ValueError(f"remote_device {remote_device!r} is not where the module is, on {module_rref.owner()}")
        return _received(RemoteModule, on, device, module_rref, True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module there and wait for the result."""
        return rpc.rpc_sync(self.module_rref.owner(), _forward, args=self._call_of(args, kwargs))

    def forward_async(self, *args: Any, **kwargs: Any) -> Future:
        """Call the module there; a Future of the result."""
        return rpc.rpc_async(self.module_rref.owner(), _forward, args=self._call_of(args, kwargs))

    def _call_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return self.module_rref, self.device, self.is_device_map_set, args, kwargs

    def remote_parameters(self, recurse: bool = True) -> list[RRef]:
        """RRefs of the module's parameters, for a DistributedOptimizer."""
        return self._ask(_parameters, recurse)

    def get_module_rref(self) -> RRef:
        """The RRef of the module itself."""
        return self.module_rref

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        return rpc.rpc_sync(self.module_rref.owner(), function, args=(self.module_rref, *args))

    def extra_repr(self) -> str:
        """Where the module is."""
        return f"on={self.on!r}, device={self.device!r}"

    # -- pickling ----------------------------------------------------------------------------------------------------
    def _reduce_in_rpc(self) -> Any:
        """As an argument or result of a call: another RemoteModule for the same module; other attributes stay here."""
        return _received, (type(self), self.on, self.device, self.module_rref, self.training)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC")

    # -- what crosses workers, which PyTorch's refuses ---------------------------------------------------------------
    def train(self, mode: bool = True) -> RemoteModule:
        """Put the module there into training mode, or out of it."""
        self._ask(_quietly, "train", mode)
        self.training = mode
        return self

    def eval(self) -> RemoteModule:
        """Put the module there into evaluation mode."""
        return self.train(False)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """The module's state, brought here; an addition to PyTorch."""
        if keep_vars:
            raise ValueError("RemoteModule.state_dict gives copies of what is on another worker: keep_vars must be False")
        state = self._ask(_call, "state_dict")
        found: Any = OrderedDict() if destination is None else destination
        found.update((prefix + name, value) for name, value in state.items())
        versions = {(prefix + name).rstrip("."): notes for name, notes in getattr(state, "_metadata", {}).items()}
        found._metadata = {**getattr(found, "_metadata", {}), **versions}
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Put a state into the module there; an addition to PyTorch."""
        return self._ask(_call, "load_state_dict", OrderedDict(state_dict), strict, assign)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        """As part of a module that is here: take what is meant for this one, and report as any other part."""
        mine = OrderedDict((name[len(prefix) :], value) for name, value in state_dict.items() if name.startswith(prefix))
        try:
            report = self._ask(_call, "load_state_dict", mine, False, bool(local_metadata.get("assign_to_params_buffers")))
        except RuntimeError as error:
            errors.append(f"on {self.on}, for {prefix.rstrip('.')!r}: {error}")
            return
        missing.extend(prefix + name for name in report.missing_keys)
        unexpected.extend(prefix + name for name in report.unexpected_keys)


for _name in REFUSED:
    setattr(RemoteModule, _name, refusal(_name))


def _received(cls: type[RemoteModule], on: str | int, device: str, module_rref: RRef, training: bool) -> RemoteModule:
    made = cls.__new__(cls)
    made._hold(on, device, module_rref, training)
    return made


def _exists(module: RRef) -> None:
    module.local_value()
