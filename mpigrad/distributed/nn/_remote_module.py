"""`RemoteModule`: a module on another worker that is called like a local one."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..._ops._define.foreign import is_torch_module, of_torch
from ..._tensor import Tensor
from ...futures import Future
from ...jit import script
from ...nn import Module
from ...nn.modules._state import ONLY_CHECK, check
from .. import rpc
from ..rpc import RRef
from ._place import parse
from ._refused import REFUSED, refusal
from ._scriptable import scriptable

if TYPE_CHECKING:
    from typing_extensions import Self

_NEVER = "Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC"
_IGNORED = (
    "The new attribute ``{name}`` of RemoteModule is ignored during RPC pickling. To pickle this attribute, please add it to "
    "``_REMOTE_MODULE_PICKLED_ATTRIBUTES``. Otherwise, please explicitly add it to "
    "``_REMOTE_MODULE_ATTRIBUTES_IGNORE_FOR_PICKLING``."
)


def _make(module_cls: Callable[..., Module], args: tuple[Any, ...], kwargs: dict[str, Any], place: str) -> Module:
    """Create a module on the device `place`; ValueError if `module_cls` makes something else. Runs on the module's worker."""
    made = module_cls(*args, **kwargs)
    if not isinstance(made, Module) and not is_torch_module(made):
        raise ValueError(
            "Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, "
            f"but it returns an instance of {type(made)}."
        )
    return made.to(place) if place != "cpu" else made


def _make_scripted(
    module_cls: Callable[..., Module], args: tuple[Any, ...], kwargs: dict[str, Any], place: str, interface: Any
) -> RRef:
    """Create a scripted module with this interface, which scripted code can call. Runs on the module's worker."""
    scriptable(interface)
    return RRef(script(_make(module_cls, args, kwargs, place)), interface)


def _prepare(interface: Any) -> None:
    scriptable(interface)


def _forward(module: RRef, place: str, mapped: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the module, with its inputs moved to the device `place`. Runs on the module's worker.

    Results are moved to the CPU, unless a device map applies (`mapped`), which says where they arrive.
    """
    if place == "cpu":
        return module.local_value()(*args, **kwargs)
    moved = _moved((args, kwargs), place)
    result = module.local_value()(*moved[0], **moved[1])
    return result if mapped else _moved(result, "cpu")


def _moved(value: Any, place: str) -> Any:
    """Return a value whose tensors, also those in lists, tuples and dicts, are on the device `place`."""
    if isinstance(value, Tensor) or of_torch(value):
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
    """Call a method that returns the module itself, which must not be sent back. Runs on the module's worker."""
    getattr(module.local_value(), name)(*args)


_REMOTE_MODULE_PICKLED_ATTRIBUTES = ("on", "device", "is_device_map_set", "is_scriptable", "generated_methods", "module_rref")
_STATE = tuple(vars(Module()))  # attributes of every module; a received RemoteModule gets them on first use
_REMOTE_MODULE_ATTRIBUTES_IGNORE_FOR_PICKLING = (*_STATE, "forward_async", "forward")


class _Forward:
    """`forward` or `forward_async` of one remote module: an object that makes the call with `send`, a function of RPC.

    It does not refer to the RemoteModule: with such a reference cycle the remote module would stay alive until Python's
    garbage collector runs.
    """

    def __init__(self, name: str, send: Callable[..., Any], module_rref: RRef, device: str, mapped: bool) -> None:
        self.__name__, self._send, self._given = name, send, (module_rref, device, mapped)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._send(self._given[0].owner(), _forward, args=(*self._given, args, kwargs))


class _RemoteModule(Module):
    """The base class of `RemoteModule`, with one more argument.

    If `_module_interface_cls` is given, a class decorated with `jit.interface`, the module on the other worker is
    scripted, and scripted code on this worker can call `forward` and `forward_async` of the remote module.
    """

    on: str | int
    device: str
    module_rref: RRef
    is_device_map_set: bool

    def __init__(
        self, remote_device: str, module_cls: Callable[..., Module], args: Any = None, kwargs: Any = None,
        _module_interface_cls: Any = None,
    ) -> None:
        if not callable(module_cls):
            raise TypeError(f"module_cls must be a class or function that makes a module, not {module_cls!r}")
        on, device = parse(remote_device)
        given = (module_cls, tuple(args or ()), dict(kwargs or {}), device)
        Module.__init__(self)
        if _module_interface_cls is not None:
            scriptable(_module_interface_cls)
            self._hold(on, device, rpc.rpc_sync(on, _make_scripted, (*given, _module_interface_cls)), _module_interface_cls)
        else:
            self._hold(on, device, rpc.remote(on, _make, args=given), None)
            self._ask(_exists)  # raises if the module could not be created

    def _hold(self, on: str | int, device: str, module_rref: RRef, interface: Any) -> None:
        """Make this object refer to an existing module, given by an RRef; `on` and `device` say where it is."""
        mapped = bool(rpc._get_current_rpc_agent()._get_device_map(module_rref.owner()))
        self._take(on, device, mapped, interface is not None, (), module_rref)
        if interface is not None:  # a subclass with the generated methods, which scripted code can call
            self.__class__ = type(type(self).__name__, (type(self),), {**scriptable(interface), "__module__": __name__})

    def _take(self, *attributes: Any) -> None:
        """Set the attributes that are sent when this object is pickled for RPC, and the two methods that depend on them."""
        self.__dict__.update(zip(_REMOTE_MODULE_PICKLED_ATTRIBUTES, attributes))
        # unless a subclass of the user overrides `forward`
        if not self.is_scriptable and type(self).forward in (_RemoteModule.forward, RemoteModule.forward):
            given = self.module_rref, self.device, self.is_device_map_set
            self.__dict__["forward_async"] = _Forward("forward_async", rpc.rpc_async, *given)
            self.__dict__["forward"] = _Forward("forward", rpc.rpc_sync, *given)

    def __getattr__(self, name: str) -> Any:
        # To keep receiving cheap, `_received` makes the object without `Module.__init__`; its fields are added when needed.
        if name in _STATE and "_parameters" not in self.__dict__:
            self.__dict__.update({**vars(Module()), **self.__dict__})
            return self.__dict__[name]
        return super().__getattr__(name)

    @staticmethod
    def init_from_module_rref(remote_device: str, module_rref: RRef, _module_interface_cls: Any = None) -> RemoteModule:
        """Return a RemoteModule for a module that exists on another worker, given by an RRef.

        Calls go to the RRef's owner; `remote_device` (see `RemoteModule`) only sets the attributes `on` and `device`.
        `_module_interface_cls` is the interface of a scripted module.
        """
        on, device = parse(remote_device)
        made = RemoteModule.__new__(RemoteModule)
        made._hold(on, device, module_rref, _module_interface_cls)
        if _module_interface_cls is not None:
            rpc.rpc_sync(module_rref.owner(), _prepare, (_module_interface_cls,))
        return made

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, wait, and return the result. An exception of the module is raised here."""
        return rpc.rpc_sync(self.module_rref.owner(), _forward, args=self._call_of(args, kwargs))

    def forward_async(self, *args: Any, **kwargs: Any) -> Future:
        """Call the module and return a `Future` of the result at once."""
        return rpc.rpc_async(self.module_rref.owner(), _forward, args=self._call_of(args, kwargs))

    def _call_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return self.module_rref, self.device, self.is_device_map_set, args, kwargs

    def remote_parameters(self, recurse: bool = True) -> list[RRef]:
        """Return the list of RRefs to the module's parameters, for a `DistributedOptimizer`.

        With `recurse=False` only those of the module itself, without its children.
        """
        return self._ask(_parameters, recurse)

    def get_module_rref(self) -> RRef:
        """Return the RRef to the module itself."""
        return self.module_rref

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        return rpc.rpc_sync(self.module_rref.owner(), function, args=(self.module_rref, *args))

    def __repr__(self) -> str:
        return f"RemoteModule(on={self.on!r}, device={self.device!r})"

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Any:
        """Raise a ValueError when a user calls it, as the module is on another worker.

        A local module that contains this one calls it with `memo`; the remote module then counts as one module.
        """
        if memo is None:
            refusal("named_modules")(self)
        return super().named_modules(memo, prefix, remove_duplicate)

    # -- pickling ----------------------------------------------------------------------------------------------------
    def _reduce_in_rpc(self) -> Any:
        """Pickle this object for a message: the receiver makes a RemoteModule for the same module.

        Attributes that a user has added are not sent.
        """
        if self.is_scriptable:
            raise RuntimeError(_NEVER)
        for name in self.__dict__:
            if name not in _REMOTE_MODULE_PICKLED_ATTRIBUTES and name not in _REMOTE_MODULE_ATTRIBUTES_IGNORE_FOR_PICKLING:
                print(_IGNORED.format(name=name), file=sys.stderr)
        given = (getattr(self, name) for name in _REMOTE_MODULE_PICKLED_ATTRIBUTES)
        return _received, (type(self), self.training, *given)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(_NEVER)

    # -- methods that PyTorch's RemoteModule does not support ---------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Set the training mode of the module on its worker, and return this object."""
        self._ask(_quietly, "train", mode)
        self.training = mode
        return self

    def eval(self) -> Self:
        """Set the module to evaluation mode, and return this object."""
        return self.train(False)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Return the state of the module, copied to this worker; not in PyTorch.

        `destination` is a dict to fill, `prefix` is put before each name. ValueError if `keep_vars` is True.
        """
        if keep_vars:
            raise ValueError("RemoteModule.state_dict gives copies of what is on another worker: keep_vars must be False")
        state = self._ask(_call, "state_dict")
        found: Any = OrderedDict() if destination is None else destination
        found.update((prefix + name, value) for name, value in state.items())
        versions = {(prefix + name).rstrip("."): notes for name, notes in getattr(state, "_metadata", {}).items()}
        found._metadata = {**getattr(found, "_metadata", {}), **versions}
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load a state into the module, on its worker; not in PyTorch.

        Arguments and result are those of `Module.load_state_dict`.
        """
        return self._ask(_call, "load_state_dict", OrderedDict(state_dict), strict, assign)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        """Load the entries of this module from the state of a local module that contains it, and report missing ones."""
        mine = OrderedDict((name[len(prefix) :], value) for name, value in state_dict.items() if name.startswith(prefix))
        try:
            if local_metadata.get(ONLY_CHECK):
                self._ask(_check, mine)
                return
            report = self._ask(_call, "load_state_dict", mine, False, bool(local_metadata.get("assign_to_params_buffers")))
        except RuntimeError as error:
            errors.append(f"on {self.on}, for {prefix.rstrip('.')!r}: {error}")
            return
        missing.extend(prefix + name for name in report.missing_keys)
        unexpected.extend(prefix + name for name in report.unexpected_keys)


for _name in REFUSED:
    setattr(_RemoteModule, _name, refusal(_name))


class RemoteModule(_RemoteModule):
    """A module created by `module_cls(*args, **kwargs)` on another worker, and called like a local one.

    Inputs are sent to the worker and moved to the module's device; the result comes back. Calls in a `dist_autograd` context are
    recorded, like any other call.

    Args:
        remote_device: the worker and, after a slash, the device: "worker1", "worker1/cuda:0", "rank:2". The device is by
            default the CPU.
        module_cls: a class or function that both workers can import and that makes a module; the constructor waits for it,
            and raises its exception.
        args, kwargs: its arguments, a tuple and a dict.

    >>> import mpigrad
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad import nn
    >>> from mpigrad.distributed.nn import RemoteModule
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> remote = RemoteModule("solo/cpu", nn.Linear, args=(20, 30))    # usually on another worker, such as "worker1/cpu"
    >>> remote(mpigrad.randn(128, 20)).shape
    mpigrad.Size([128, 30])
    >>> rpc.shutdown()
    """

    def __init__(self, remote_device: str, module_cls: Callable[..., Module], args: Any = None, kwargs: Any = None) -> None:
        super().__init__(remote_device, module_cls, args, kwargs)


def _received(cls: type[RemoteModule], training: bool, *attributes: Any) -> RemoteModule:
    made = cls.__new__(cls)
    made._take(*attributes)
    if not training:
        made.__dict__["training"] = False
    return made


def _check(module: RRef, state: Mapping[str, Any]) -> None:
    check(module.local_value(), state)


def _exists(module: RRef) -> None:
    """Wait until the module has been created, and raise the error of its constructor. Runs on the module's worker."""
    module.local_value()
