"""Schemas: the arguments of a scripted function, their checks and error messages."""

from __future__ import annotations

from typing import Any, NamedTuple

from .convert import NO, convert
from .graph import _literal
from .types import Type

MISSING: Any = object()  # stands where an argument without a default was not given


class Argument(NamedTuple):
    """One argument of a scripted function: its name, type and default."""

    name: str
    type: Type
    inferred: bool = False  # a Tensor because there is no annotation
    has_default: bool = False
    default: Any = None


class Schema(NamedTuple):
    """The declaration of a scripted function: prints like `f(Tensor x, int n) -> Tensor`."""

    name: str
    arguments: tuple[Argument, ...]
    returns: Type

    def __str__(self) -> str:
        parts = [
            f"{each.type} {each.name}{f'={_shown_default(each.default)}' if each.has_default else ''}" for each in self.arguments
        ]
        result = f"({self.returns})" if self.returns.kind == "Tuple" else self.returns
        return f"{self.name}({', '.join(parts)}) -> {result}"

    def __repr__(self) -> str:
        return str(self)

    def refusal(self, bound: tuple[Any, ...], more: tuple[Any, ...], named: dict[str, Any]) -> RuntimeError:
        """The error for a call: `bound` arguments (or `MISSING`), and the `more` positional and `named` ones left over."""
        if more:
            return RuntimeError(
                f"{self.name}() expected at most {len(bound)} argument(s) but received {len(bound) + len(more) + len(named)} "
                f"argument(s). Declaration: {self}"
            )
        for each, value in zip(self.arguments, bound):
            if value is MISSING:
                return self._missing(each)
        return self._unknown(next(iter(named)))

    def _unknown(self, keyword: str) -> RuntimeError:
        return RuntimeError(f"Unknown keyword argument '{keyword}' for operator '{self.name}'. Schema: {self}")

    def check_keywords(self, count: int, keywords: dict[str, Any]) -> None:
        """Raise an error if keyword arguments conflict with the first `count` arguments; the callee checks their types."""
        names = [each.name for each in self.arguments]
        for keyword in keywords:
            if keyword not in names:
                raise self._unknown(keyword)
        for name in names[:count]:
            if name in keywords:
                raise RuntimeError(f"Argument '{name}' specified both as positional and keyword argument. Schema: {self}")
        for each in self.arguments[count:]:
            if not each.has_default and each.name not in keywords:
                raise self._missing(each)

    def check_call(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Raise an error if the arguments of a remote call do not match the schema, before they are sent."""
        if len(args) > len(self.arguments):
            raise self.refusal(args[: len(self.arguments)], args[len(self.arguments) :], keywords)
        for position, value in enumerate(args):
            self.check(position, value)
        self.check_keywords(len(args), keywords)
        for position, each in enumerate(self.arguments):
            if each.name in keywords:
                self.check(position, keywords[each.name])

    def _missing(self, argument: Argument) -> RuntimeError:
        return RuntimeError(f"{self.name}() is missing value for argument '{argument.name}'. Declaration: {self}")

    def check(self, position: int, value: Any) -> Any:
        """The argument at `position`, converted to its type; RuntimeError if the value does not match the type."""
        argument = self.arguments[position]
        if value is MISSING:
            raise self._missing(argument)
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


def _shown_default(value: Any) -> str:
    return str(value) if isinstance(value, bool) else _literal(value)  # graphs write bools as numbers, schemas do not


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."
