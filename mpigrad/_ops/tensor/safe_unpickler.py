"""An unpickler for untrusted files. It supports only the opcodes that `save` writes for plain data.

Python's unpickler can call and change any object that a file names. This one guarantees, for any input:

- It calls only functions of `makers.py`, after checking the arguments, and what the user allowed with `add_safe_globals`.
- It sets attributes only of objects that it has created, never of classes, and never hides a method.
- Memory is proportional to the size of the pickle: no number in the file determines an allocation, and copies are counted.
- Keys of dicts and elements of sets are checked before they are hashed: deeply nested tuples would overflow the C stack.

All other errors become an `UnpicklingError`: the file is damaged.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, ClassVar

from mpigrad._array.device import device
from mpigrad._array.dtype import dtype
from mpigrad._array.layout import layout
from mpigrad._tensor import Tensor

from .makers import check_names, make
from .safe_globals import find_safe, is_allowed

Step = Callable[[Any], None]
_DEPTH = 100  # of tuples in a key
_KEYS = frozenset({str, bytes, int, float, bool, type(None), complex, range, dtype, device, date, timedelta})
_DICTS = frozenset({dict, OrderedDict, Counter, defaultdict})
_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, RuntimeError, TypeError,
    ValueError, struct.error,
)  # fmt: skip


def damaged(why: str) -> pickle.UnpicklingError:
    """The error for a damaged file, or one that neither `mpigrad.save` nor `torch.save` has written."""
    return pickle.UnpicklingError(f"the file is damaged, or was not written by mpigrad.save or torch.save: {why}")


class SafeUnpickler:
    """Reads one pickle. `block` returns the array for a persistent id; `place` moves the arrays of a tensor to their device."""

    steps: ClassVar[dict[int, Step]]

    def __init__(self, data: bytes, block: Callable[[Any], Any], place: Callable[..., Any]) -> None:
        self._data, self._at = data, 0
        self._block, self._place = block, place
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        # a file of n bytes may copy at most n elements: a short pickle cannot build an exponentially large object by
        # repetition
        self._copies_left = len(data)
        self._outside = False  # while the user's code runs: its errors are not errors of the file

    def load(self) -> Any:
        """Read the pickle and return its object."""
        try:
            return self._run()
        except _DAMAGE as error:
            if self._outside:
                raise
            raise damaged(f"{type(error).__name__}: {error}") from error

    def _run(self) -> Any:
        data, end = self._data, len(self._data)
        while self._at < end:
            opcode = data[self._at]
            self._at += 1
            step = self.steps.get(opcode)
            if step is not None:
                step(self)
            elif opcode == _STOP:
                return self._result()
            else:
                raise damaged(f"its pickle has the opcode {opcode:#04x} at {self._at - 1}, which no plain data needs")
        raise EOFError("the file ends early: its pickle has no end")

    def _result(self) -> Any:
        result = self._stack.pop()
        if self._stack or self._marks:
            raise damaged("there is data after the end of its pickle")
        return result

    def find(self, module: str, name: str) -> Any:
        """The class or function that a file names; an error if it is not safe."""
        return find_safe(module, name)

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """The result of a call that the pickle contains."""
        return make(self, function, args)

    # -- interface for makers.py -------------------------------------------------------------------------------------
    def charge(self, count: int) -> None:
        """Count elements before they are copied; raises an error if a file copies too many."""
        self._copies_left -= count
        if self._copies_left < 0:
            raise damaged("it would take more memory than its size allows")

    def outside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function whose errors must not be reported as damage of the file."""
        self._outside = True
        result = function(*args, **kwargs)
        # not reset in a `finally`: after an error it tells `load` that the error came from outside
        self._outside = False
        return result

    def placed(self, *args: Any) -> Any:
        """An array on the device that `map_location` chooses for it."""
        return self.outside(self._place, *args)

    # -- reading -----------------------------------------------------------------------------------------------------
    def _take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise EOFError(f"the file ends early: its pickle names {count} bytes, there are {len(self._data) - self._at}")
        # checked before: a wrong length must not allocate
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _number(self, form: struct.Struct) -> Any:
        return form.unpack(self._take(form.size))[0]

    def _until_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    # -- steps -------------------------------------------------------------------------------------------------------
    def _proto(self) -> None:
        version = self._number(_U1)
        if version > 4:
            raise damaged(f"its pickle has protocol {version}")

    def _mark(self) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._until_mark()

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise damaged("a tuple lacks elements")
        self._stack[-count:] = [tuple(self._stack[-count:])]

    def _remember(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) in (list, deque):
            target.extend(items)
        elif is_allowed(type(target)):
            self.outside(target.extend if hasattr(target, "extend") else lambda each: [target.append(one) for one in each], items)
        else:
            raise damaged(f"it would append to a {type(target).__name__}")

    def _set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        own = type(target) in _DICTS
        if not own and not is_allowed(type(target)) or len(items) % 2:
            raise damaged(f"it would set items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2]):
            if own:
                target[self.key(key)] = value
            else:
                self.outside(target.__setitem__, key, value)

    def _add_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not set:
            raise damaged(f"it would add to a {type(target).__name__}")
        target.update([self.key(each) for each in items])

    def key(self, key: Any) -> Any:
        """Return the value; an error if it is nested too deeply to hash and compare."""
        left, level = len(self._data), [key]
        for _ in range(_DEPTH):
            deeper: list[Any] = []
            for each in level:
                if type(each) in _KEYS or isinstance(each, (Tensor, type, layout)):
                    continue
                if not isinstance(each, (tuple, frozenset)) and not is_allowed(type(each)):
                    raise damaged(f"a {type(each).__name__} is used as a key")
                if isinstance(each, (tuple, frozenset)):
                    left -= len(each)
                    if left < 0:
                        raise damaged("a key is larger than the file")
                    deeper.extend(each)
            if not deeper:
                return key
            level = deeper
        raise damaged(f"a key has tuples nested more than {_DEPTH} deep")

    def _global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise damaged("a name is not a string")
        self._stack.append(self.find(module, name))

    def _persistent(self) -> None:
        self._stack.append(self._block(self._stack.pop()))

    def _reduce(self) -> None:
        args, function = self._stack.pop(), self._stack.pop()
        if type(args) is not tuple:
            raise damaged("the arguments of a call are not a tuple")
        self._stack.append(self.call(function, args))

    def _new(self, keywords: dict[str, Any]) -> None:
        args, cls = self._stack.pop(), self._stack.pop()
        if not isinstance(cls, type) or not is_allowed(cls) or type(args) is not tuple:
            raise damaged(f"it would make a {getattr(cls, '__name__', 'thing')} without its constructor")
        self._stack.append(self.outside(cls.__new__, cls, *args, **keywords))

    def _new_with_keywords(self) -> None:
        keywords = self._stack.pop()
        if type(keywords) is not dict or not all(type(each) is str for each in keywords):
            raise damaged("the keyword arguments of a call are not a dict of names")
        self._new(keywords)

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if type(target) is OrderedDict:
            check_names(state, OrderedDict)
            target.__dict__.update(state)
        elif is_allowed(type(target)):
            self.outside(_set_state, target, state)
        else:
            raise damaged(f"it would set attributes of a {type(target).__name__}")


def _set_state(target: Any, state: Any) -> None:
    """Set the state of an object of a class that the user allowed, as pickle does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


_U1, _U2, _I4, _U4, _U8, _F8 = (struct.Struct(each) for each in ("<B", "<H", "<i", "<I", "<Q", ">d"))
_STOP = pickle.STOP[0]


def _push(value: Callable[[SafeUnpickler], Any]) -> Step:
    def step(self: SafeUnpickler) -> None:
        made = value(self)  # first, as it may replace the stack
        self._stack.append(made)

    return step


def _bytes(length: struct.Struct) -> Step:
    return _push(lambda self: self._take(self._number(length)))


def _text(length: struct.Struct) -> Step:
    return _push(lambda self: str(self._take(self._number(length)), "utf-8", "surrogatepass"))


def _long(length: struct.Struct) -> Step:
    return _push(lambda self: int.from_bytes(self._take(self._number(length)), "little", signed=True))


def _get(number: struct.Struct) -> Step:
    return _push(lambda self: self._memo[self._number(number)])


SafeUnpickler.steps = {
    opcode[0]: step
    for opcode, step in {
        pickle.PROTO: SafeUnpickler._proto,
        pickle.FRAME: lambda self: self._take(8) and None,
        pickle.MARK: SafeUnpickler._mark,
        pickle.POP: SafeUnpickler._pop,
        pickle.POP_MARK: lambda self: self._until_mark() and None,
        pickle.NONE: _push(lambda self: None),
        pickle.NEWTRUE: _push(lambda self: True),
        pickle.NEWFALSE: _push(lambda self: False),
        pickle.BININT: _push(lambda self: self._number(_I4)),
        pickle.BININT1: _push(lambda self: self._number(_U1)),
        pickle.BININT2: _push(lambda self: self._number(_U2)),
        pickle.LONG1: _long(_U1),
        pickle.LONG4: _long(_I4),
        pickle.BINFLOAT: _push(lambda self: self._number(_F8)),
        pickle.SHORT_BINUNICODE: _text(_U1),
        pickle.BINUNICODE: _text(_U4),
        pickle.BINUNICODE8: _text(_U8),
        pickle.SHORT_BINBYTES: _bytes(_U1),
        pickle.BINBYTES: _bytes(_U4),
        pickle.BINBYTES8: _bytes(_U8),
        pickle.EMPTY_TUPLE: _push(lambda self: ()),
        pickle.EMPTY_LIST: _push(lambda self: []),
        pickle.EMPTY_DICT: _push(lambda self: {}),
        pickle.EMPTY_SET: _push(lambda self: set()),
        pickle.TUPLE: _push(lambda self: tuple(self._until_mark())),
        pickle.TUPLE1: lambda self: self._tuple(1),
        pickle.TUPLE2: lambda self: self._tuple(2),
        pickle.TUPLE3: lambda self: self._tuple(3),
        pickle.FROZENSET: _push(lambda self: frozenset([self.key(each) for each in self._until_mark()])),
        pickle.APPEND: lambda self: self._extend([self._stack.pop()]),
        pickle.APPENDS: lambda self: self._extend(self._until_mark()),
        pickle.SETITEM: lambda self: self._set_items([self._stack.pop(-2), self._stack.pop()]),
        pickle.SETITEMS: lambda self: self._set_items(self._until_mark()),
        pickle.ADDITEMS: lambda self: self._add_items(self._until_mark()),
        pickle.MEMOIZE: SafeUnpickler._remember,
        pickle.BINGET: _get(_U1),
        pickle.LONG_BINGET: _get(_U4),
        pickle.STACK_GLOBAL: SafeUnpickler._global,
        pickle.BINPERSID: SafeUnpickler._persistent,
        pickle.REDUCE: SafeUnpickler._reduce,
        pickle.NEWOBJ: lambda self: self._new({}),
        pickle.NEWOBJ_EX: SafeUnpickler._new_with_keywords,
        pickle.BUILD: SafeUnpickler._build,
    }.items()
}

__all__: list[str] = []
