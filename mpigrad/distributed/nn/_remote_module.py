"""`RemoteModule`: a module that lives on another worker and is called like one that is here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..._device import device as as_device
from ..._tensor import Tensor
from ...futures import Future
from ...nn import Module, Parameter
from .. import rpc
from ..rpc import RRef

_ELSEWHERE = (
    "Method ``{}`` not supported for RemoteModule: the parameters are on another worker; use get_module_rref(), "
    "remote_parameters(), or a call to the worker"
)


def _parse(remote_device: str) -> tuple[str | int, str]:
    """The worker and the device of "worker1/cuda:0", "worker1", "rank:1/cpu"."""
    if not isinstance(remote_device, str) or not remote_device or remote_device.count("/") > 1:
        raise ValueError(f"Could not parse remote_device: {remote_device}. The valid format is '<workername>/<device>'")
    name, _, place = remote_device.partition("/")
    if not name:
        raise ValueError(f"Could not parse remote_device: {remote_device}. The valid format is '<workername>/<device>'")
    as_device(place or "cpu")
    worker: str | int = int(name[5:]) if name.startswith("rank:") and name[5:].isdigit() else name
    return worker, place or "cpu"


def _make(module_cls: Callable[..., Module], args: tuple[Any, ...], kwargs: dict[str, Any], place: str) -> Module:
    made = module_cls(*args, **kwargs)
    if not isinstance(made, Module):
        raise ValueError(
            f"Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but it returns {type(made)}."
        )
    return made.to(place) if place != "cpu" else made


def _forward(module: RRef, place: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs on the worker: inputs go to the module's device, tensors of the result come back on the CPU."""
    if place == "cpu":
        return module.local_value()(*args, **kwargs)
    moved = _moved((args, kwargs), place)
    return _moved(module.local_value()(*moved[0], **moved[1]), "cpu")


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
    """A module made on the worker of `remote_device` ("worker1", "worker1/cuda:0", "rank:2/cpu").

    It is what `module_cls(*args, **kwargs)` gives there.

    >>> remote = RemoteModule("worker1/cpu", nn.Linear, args=(20, 30))  # doctest: +SKIP
    >>> remote(mpigrad.randn(128, 20)).shape  # doctest: +SKIP
    mpigrad.Size([128, 30])
    """

    def __init__(
        self,
        remote_device: str,
        module_cls: Callable[..., Module],
        args: Any = None,
        kwargs: Any = None,
        _module_interface_cls: Any = None,
    ) -> None:
        super().__init__()
        if not callable(module_cls):
            raise TypeError(f"module_cls must be a class or function that makes a module, not {module_cls!r}")
        self.on, self.device = _parse(remote_device)
        self.is_scriptable, self.generated_methods = False, ()
        self.module_rref = rpc.remote(
            self.on, _make, args=(module_cls, tuple(args or ()), dict(kwargs or {}), self.device)
        )
        self._check_made()

    def _check_made(self) -> None:
        """Raise here if the module could not be made there."""
        rpc.rpc_sync(self.on, _exists, args=(self.module_rref,))

    @classmethod
    def init_from_module_rref(
        cls, remote_device: str, module_rref: RRef, _module_interface_cls: Any = None
    ) -> RemoteModule:
        """A RemoteModule for a module that is there already."""
        made = cls.__new__(cls)
        Module.__init__(made)
        made.on, made.device = _parse(remote_device)
        made.is_scriptable, made.generated_methods, made.module_rref = False, (), module_rref
        if module_rref.owner() != rpc.get_worker_info(made.on) if isinstance(made.on, str) else False:
            raise ValueError(f"the module is on {module_rref.owner()}, not on {made.on}")
        return made

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module there and wait for the result."""
        return rpc.rpc_sync(self.module_rref.owner(), _forward, args=(self.module_rref, self.device, args, kwargs))

    def forward_async(self, *args: Any, **kwargs: Any) -> Future:
        """Call the module there; a Future of the result."""
        return rpc.rpc_async(self.module_rref.owner(), _forward, args=(self.module_rref, self.device, args, kwargs))

    def remote_parameters(self, recurse: bool = True) -> list[RRef]:
        """RRefs of the module's parameters, for a DistributedOptimizer."""
        return self._ask(_parameters, recurse)

    def get_module_rref(self) -> RRef:
        """The RRef of the module itself."""
        return self.module_rref

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        return rpc.rpc_sync(self.module_rref.owner(), function, args=(self.module_rref, *args))

    # -- what crosses workers, which PyTorch's refuses ---------------------------------------------------------------
    def train(self, mode: bool = True) -> RemoteModule:
        """Put the module there into training mode, or out of it."""
        self._ask(_quietly, "train", mode)
        self.training = mode
        return self

    def eval(self) -> RemoteModule:
        """Put the module there into evaluation mode."""
        return self.train(False)

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The module's state, brought here; an addition to PyTorch."""
        found = {prefix + name: value for name, value in self._ask(_call, "state_dict").items()}
        if destination is None:
            return found
        destination.update(found)
        return destination

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Put a state into the module there; an addition to PyTorch."""
        return self._ask(_call, "load_state_dict", dict(state_dict), strict)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *reports: Any
    ) -> None:
        """As part of a module that is here: take what is meant for this one."""
        mine = {name[len(prefix) :]: value for name, value in state_dict.items() if name.startswith(prefix)}
        self._ask(_call, "load_state_dict", mine, strict)

    # -- what makes no sense from here -------------------------------------------------------------------------------
    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        raise ValueError(_ELSEWHERE.format("parameters"))

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        raise ValueError(_ELSEWHERE.format("named_parameters"))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        raise ValueError(_ELSEWHERE.format("buffers"))

    def register_buffer(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError(_ELSEWHERE.format("register_buffer"))

    def register_parameter(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError(_ELSEWHERE.format("register_parameter"))

    def add_module(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError(_ELSEWHERE.format("add_module"))

    def apply(self, fn: Any) -> Any:
        raise ValueError(_ELSEWHERE.format("apply"))

    def zero_grad(self, set_to_none: bool = True) -> None:
        raise ValueError(_ELSEWHERE.format("zero_grad"))

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        raise ValueError(_ELSEWHERE.format("requires_grad_"))


def _exists(module: RRef) -> None:
    module.local_value()
