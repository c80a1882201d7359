"""`GroupError`: which members of a group failed, and how."""

from __future__ import annotations

from collections.abc import Sequence

from .._protocol.errors import safe_str

_TEXTS, _NAMES, _LONGEST = 8, 1000, 300


class GroupError(RuntimeError):
    """Raised by a call to a `WorkerGroup` in which members failed.

    The text names all members that failed, with the errors of the first eight. `errors` is a dict from the name of each of
    them to its exception.
    """

    def __init__(self, message: str = "", errors: dict[str, BaseException] | None = None) -> None:
        super().__init__(message)
        self.errors: dict[str, BaseException] = errors or {}


def group_error(errors: dict[str, BaseException], count: int) -> GroupError:
    """Return the error of a call to `count` members.

    `errors` has the exceptions of those that failed, by name; the text names all of them, with the text of the first few
    errors.
    """
    names = list(errors)
    texts = "\n".join(f"  {name}: {_short(error)}" for name, error in list(errors.items())[:_TEXTS])
    rest = f"\n  the same or other errors: {_list(names[_TEXTS:])}" if len(names) > _TEXTS else ""
    made = GroupError(f"{len(names)} of {count} members of the group failed:\n{texts}{rest}", errors)
    made.__cause__ = errors[names[0]]
    return made


def _short(error: BaseException) -> str:
    text = f"{type(error).__name__}: {safe_str(error)}".partition("\n")[0]
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
