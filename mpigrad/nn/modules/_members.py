"""A module's members: parameters, buffers and submodules, kept by name behind ordinary attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._tensor import Tensor
from ..parameter import Buffer, Parameter
from ._hooks import GLOBAL

if TYPE_CHECKING:
    from .module import Module

TABLES = ("_parameters", "_buffers", "_modules")


class Members:
    """The part of `Module` that stores and finds members. Only `Module` derives from it, so `isinstance(x, Members)` tests for
    modules.
    """

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    def _make_tables(self) -> None:
        set_plainly = object.__setattr__
        set_plainly(self, "_parameters", {})
        set_plainly(self, "_buffers", {})
        set_plainly(self, "_non_persistent_buffers_set", set())
        set_plainly(self, "_modules", {})

    def get_extra_state(self) -> Any:
        """Return picklable state of the module that is no parameter or buffer; `state_dict` then contains it.

        A module that defines this must define `set_extra_state` as well.
        """
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: define it in the subclass."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore what `get_extra_state` returned; `load_state_dict` calls this."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: define it in the subclass."
        )

    # -- registering -------------------------------------------------------------------------------------------------
    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, which becomes the attribute `name`. None: the module has no such parameter, but the name
        is reserved.

        Raises a KeyError if the name is taken or contains a dot, a TypeError if `param` is no `Parameter`.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_type_name(param)}' object to parameter '{name}' (mpigrad.nn.Parameter or None "
                    "required)"
                )
            if param._grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    "explicitly. To "
                    f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            param = self._hooked(GLOBAL.parameter, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module but is not trained; it becomes the attribute `name`.

        `to` moves buffers like parameters. `state_dict` contains them, unless `persistent=False`.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (mpigrad Tensor or None required)"
            )
        self._buffers[name] = self._hooked(GLOBAL.buffer, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule, which becomes the attribute `name`; the same as assigning it."""
        if not isinstance(module, Members) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._set_module(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module(name, module)`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(
                f'{kind} name can\'t contain ".", got: {name}'
                if kind == "module"
                else f'{kind} name can\'t contain "."'
            )
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    # -- attributes --------------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        # `self.x` would call this method again where `x` is missing
        members = self.__dict__
        if "_modules" in members:
            if name in (held := members["_parameters"]):  # the usual case first
                return held[name]
            if name in (held := members["_modules"]):
                return held[name]
            if name in (held := members["_buffers"]):
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        if isinstance(value, Parameter):
            # a parameter replaces a buffer, module or plain attribute of the same name
            self._need_tables("parameters")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif isinstance(value, Members):
            self._need_tables("module")
            self._forget(name, "_parameters", "_buffers")
            self._set_module(name, value)
        elif name in members.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' (mpigrad.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif name in members.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' (mpigrad.nn.Module or None expected)"
                )
            self._set_module(name, value)
        elif name in members.get("_buffers", ()) or isinstance(value, Buffer):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _need_tables(self, what: str) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _set_module(self, name: str, value: Any) -> None:
        self._modules[name] = self._hooked(GLOBAL.module, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(value)}' as buffer '{name}' (mpigrad.nn.Buffer, mpigrad.Tensor or None "
                "expected)"
            )
        if isinstance(value, Buffer) and name not in self._buffers:
            self._forget(name, "_parameters", "_modules")
            self.register_buffer(name, value, value.__dict__["persistent"])
            return
        self._buffers[name] = self._hooked(GLOBAL.buffer, name, value)

    def _hooked(self, hooks: dict[int, Any], name: str, value: Any) -> Any:
        """The member after all registration hooks for its kind (`hooks`) were called, each of which may replace it."""
        for hook in hooks.values():
            changed = hook(self, name, value)
            value = value if changed is None else changed
        return value

    def _forget(self, name: str, *tables: str) -> None:
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        # modules in a Sequential are called "0", "1", which are no identifiers
        return sorted(name for name in names if not name[0].isdigit())

    # -- by path -----------------------------------------------------------------------------------------------------
    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path such as "encoder.layers.0"; the empty path is this module. AttributeError if
        there is none.
        """
        found: Any = self
        for item in target.split(".") if target else ():
            if not hasattr(found, item):
                raise AttributeError(f"{type(found).__name__} has no attribute `{item}`")
            found = getattr(found, item)
            if not isinstance(found, Members):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule at a dotted path such as "encoder.layers.0".

        A missing last name is added; with `strict` it raises an AttributeError, as missing parents always do.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Members):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and name not in parent._modules:
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path such as "encoder.weight"; AttributeError if there is none."""
        module, name = self._owner_of(target)
        found = getattr(module, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path such as "norm.running_mean"; AttributeError if there is none."""
        module, name = self._owner_of(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    def _owner_of(self, target: str) -> tuple[Module, str]:
        """The module that has the member at a path, and the member's name there."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module, name


def _type_name(value: Any) -> str:
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
