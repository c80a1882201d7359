"""Modules that hold parameters as a list or a dictionary."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ..._tensor import Tensor
from ..parameter import Parameter
from ._places import pairs_of, place_of
from .module import Module


class ParameterList(Module):
    """A module that holds parameters in a list, so that `parameters()` finds them. Tensors that are added become
    parameters.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> weights = nn.ParameterList([mpigrad.zeros(2), mpigrad.zeros(3)])
    >>> len(weights), len(list(weights.parameters()))
    (2, 2)
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            made = self.__class__()
            for i in range(*index.indices(len(self))):
                made.append(self[i])
            return made
        return getattr(self, str(place_of(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(place_of(index, len(self))), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a parameter, or another value, at the end; returns the list."""
        place = self._size
        self._size += 1
        self[place] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several parameters, or other values, at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_described(value)}" for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A module that holds parameters by name, so that `parameters()` finds them. Tensors that are added become
    parameters.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> weights = nn.ParameterDict({"scale": mpigrad.ones(2), "shift": mpigrad.zeros(2)})
    >>> [name for name, _ in weights.named_parameters()]
    ['scale', 'shift']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}')."
            )
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The keys, in the order in which they were added."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of a key and its parameter."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """The parameters, in the order in which they were added."""
        return [self[key] for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of a key; `default` if there is none."""
        return self[key] if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of a key; if there is none, `default` is added and returned."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Remove the parameter of a key and return it; KeyError if there is none."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove the parameter added last and return (key, parameter)."""
        key = next(reversed(list(self._keys)))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all parameters."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """A new `ParameterDict` with the same parameter objects."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new `ParameterDict` with `default` for each of `keys`."""
        return ParameterDict([(key, default) for key in keys])

    def update(self, parameters: Any) -> None:
        """Add or replace parameters: from a mapping, or from pairs (key, parameter)."""
        for key, value in pairs_of(parameters, "ParametersDict"):  # PyTorch's spelling
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_described(value, title=True)}" for key, value in self.items())

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(value: Any, title: bool = False) -> str:
    if not isinstance(value, Tensor):
        return "Object of type: " + type(value).__name__
    size = "x".join(str(length) for length in value.shape)
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = "" if not value.is_cuda else f" (GPU {value.device.index})"
    return f"{kind} containing: [{value.type() if title else value.dtype} of size {size}{place}]"
