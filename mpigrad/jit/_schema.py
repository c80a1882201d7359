"""Schemas: the arguments of a scripted function, binding them, and complaints about those that do not fit."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._convert import NO, convert
from ._types import Type


class Argument(NamedTuple):
    """One argument."""

    name: str
    type: Type
    inferred: bool = False  # a Tensor because nothing else was said
    has_default: bool = False
    default: Any = None


class Schema(NamedTuple):
    """The declaration of a scripted function."""

    name: str
    arguments: tuple[Argument, ...]
    returns: Type

    def __str__(self) -> str:
        parts = [
            f"{each.type} {each.name}{f'={each.default!r}' if each.has_default else ''}" for each in self.arguments
        ]
        result = f"({self.returns})" if self.returns.kind != "Tuple" else f"({self.returns})"
        plain = self.returns.kind != "Tuple"
        return f"{self.name}({', '.join(parts)}) -> {self.returns if plain else result}"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments in order; RuntimeError as PyTorch raises it."""
        if len(args) > len(self.arguments):
            raise RuntimeError(
                f"{self.name}() expected at most {len(self.arguments)} argument(s) but received {len(args) + len(kwargs)} "
                f"argument(s). Declaration: {self}"
            )
        bound = list(args)
        left = dict(kwargs)
        for each in self.arguments[len(args) :]:
            if each.name in left:
                bound.append(left.pop(each.name))
            elif each.has_default:
                bound.append(each.default)
            else:
                raise RuntimeError(f"{self.name}() is missing value for argument '{each.name}'. Declaration: {self}")
        if left:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(left))}' for operator '{self.name}'. Schema: {self}"
            )
        return bound

    def check(self, position: int, value: Any) -> Any:
        """The argument as the function gets it; RuntimeError if it does not fit its type."""
        argument = self.arguments[position]
        made = convert(argument.type, value)
        if made is not NO:
            return made
        wanted = argument.type.python() + (" (inferred)" if argument.inferred else "")
        why = (
            f"Inferred '{argument.name}' to be of type 'Tensor' because it was not annotated with an explicit type.\n"
            if argument.inferred
            else ""
        )
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{wanted}' for argument '{argument.name}' but instead found type "
            f"'{type(value).__name__}'.\n{why}Position: {position}\nValue: {_shown(value)}\nDeclaration: {self}"
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."
