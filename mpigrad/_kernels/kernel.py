"""`Kernel`: a CUDA kernel as data (name, parameters, body), the generation of its source, and its launch.

A body is written once for all element types. Its type letters (`T`) are bound by `typedef`s, `A` is the type in which it
computes: single precision for half and single, double for double, 64 bits for integers. Common code is in `prelude.h`. Each
kernel is defined next to its NumPy counterpart, and `either` combines both in one function:

    softmax = either(_on_host, _on_device)       # softmax(x, ...) depends on the device of x

`_on_device` allocates the results and calls `launch`. The tests replace the compiler below `launch` and run the same functions
on NumPy arrays, with the bodies compiled for the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OPTIONS = ("-std=c++17",)
THREADS = 256  # of a block; also the longest shared array of a reduction
_MOST_BLOCKS = 1 << 16

C_TYPES = {
    "e": "half16", "f": "float", "d": "double", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short",
    "i": "int", "I": "unsigned int", "q": "long long", "Q": "unsigned long long", "?": "bool",
}  # fmt: skip
FLOATS, INTEGERS, COMPLEX = "efd", "bBhHiIqQ", "FD"
_COMPUTING = {"d": "double", "e": "float", "f": "float", "Q": "u64"}
_LETTERS = {np.dtype(letter): letter for letter in C_TYPES}
_SCALARS: dict[str, Callable[[Any], Any]] = {"i64": np.int64, "u64": np.uint64, "double": np.float64}
_NULL = np.uint64(0)


@functools.cache
def prelude() -> str:
    """The common source of all kernels; read on first use."""
    from pathlib import Path

    return Path(__file__).with_name("prelude.h").read_text()


@dataclass(frozen=True, eq=False)
class Kernel:
    """A CUDA kernel as data: name, parameters and body.

    `parameters` is its C parameter list, in which letters such as `T` stand for element types; `kinds` says which
    element types each letter may have.
    """

    name: str
    parameters: str
    body: str
    kinds: dict[str, str] = field(default_factory=lambda: {"T": FLOATS})
    together: bool = False  # the threads of a block synchronise

    def __post_init__(self) -> None:
        former = KERNELS.get(self.name)
        if former is not None and former.body != self.body:  # the same one if an import was interrupted and is repeated
            raise AssertionError(f"kernel {self.name!r} is defined twice")
        KERNELS[self.name] = self

    def symbol(self, letters: str) -> str:
        """The name of the function for some element types."""
        return f"mpigrad_{self.name}_{letters.replace('?', 'o')}"

    def variants(self) -> list[str]:
        """The combinations of element types for which the kernel exists."""
        made = [""]
        for each in self.kinds.values():
            made = [before + letter for before in made for letter in each]
        return made

    def types(self) -> list[str]:
        """The C types of the parameters, without names."""
        return [each.strip().rpartition(" ")[0] for each in self.parameters.split(",")]

    def function(self, letters: str) -> str:
        """The source of the function for some element types, without the prelude."""
        bound = "".join(f"typedef {C_TYPES[letter]} {name}; " for name, letter in zip(self.kinds, letters))
        computing = _COMPUTING.get(letters[:1], "i64")
        return (
            # a namespace for each function: one compilation unit may contain several with different `T`
            f"namespace {self.symbol(letters)}_types {{\n{bound}typedef {computing} A;\n"
            f'extern "C" __global__ void {self.symbol(letters)}({self.parameters}) {{{self.body}}}\n}}\n'
            f"using namespace {self.symbol(letters)}_types;\n"
        )


KERNELS: dict[str, Kernel] = {}


def source(*functions: tuple[Kernel, str]) -> str:
    """One compilation unit with the functions of some kernels for some element types."""
    return prelude() + "".join(kernel.function(letters) for kernel, letters in functions)


def letters_of(*arrays: Any) -> str:
    """The element types of arrays, as `Kernel` names them."""
    return "".join(_LETTERS[each.dtype] for each in arrays)


@functools.cache
def _compiled(kernel: Kernel, letters: str, xp: Any) -> Any:
    if letters not in kernel.variants():
        raise TypeError(f"kernel {kernel.name} is not made for the types {letters!r}, only for {kernel.variants()}")
    return xp.RawKernel(source((kernel, letters)), kernel.symbol(letters), options=OPTIONS)


def launch(xp: Any, kernel: Kernel, letters: str, blocks: int, threads: int, *arguments: Any) -> None:
    """Run a kernel on the current device and stream, for the element types `letters`.

    Arguments are contiguous arrays, None for no array, or numbers.
    """
    if blocks:
        _compiled(kernel, letters, xp)((blocks,), (threads,), as_parameters(kernel, arguments))


def as_parameters(kernel: Kernel, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Convert arguments for a launch: numbers to the declared types, None to a null pointer."""
    made = []
    for kind, each in zip(kernel.types(), arguments, strict=True):
        make = _SCALARS.get(kind)
        made.append(_NULL if each is None else each if make is None else make(each))
    return tuple(made)


def blocks_for(count: int, threads: int = THREADS) -> int:
    """The number of blocks for `count` elements; if there are very many, each thread handles several."""
    return min(-(-count // threads), _MOST_BLOCKS)


def teams_for(rows: int, length: int, inner: int) -> tuple[int, int, int]:
    """(blocks, threads, team) for rows that are reduced: a block for each long contiguous row, else a thread."""
    if inner != 1 or length < 64:
        return blocks_for(rows, 128), 128, 1
    threads = THREADS if length > 128 else 64
    return min(rows, _MOST_BLOCKS), threads, threads


def either(host: Callable[..., Any], device: Callable[..., Any], kinds: str = FLOATS) -> Callable[..., Any]:
    """A function that calls `host` or `device`, depending on the device of its first argument.

    Element types without a kernel (complex numbers) use the counterpart on any device, since it consists of array calls."""
    ndarray, generic, served = np.ndarray, np.generic, {np.dtype(letter) for letter in kinds}

    @functools.wraps(host)
    def chosen(first: Any, *rest: Any, **kw: Any) -> Any:
        if first.__class__ is ndarray or isinstance(first, generic) or first.dtype not in served:
            return host(first, *rest, **kw)
        return device(first, *rest, **kw)

    chosen.host, chosen.device = host, device  # type: ignore[attr-defined]
    return chosen


def either_of_many(host: Callable[..., Any], device: Callable[..., Any]) -> Callable[..., Any]:
    """`either` for functions of a list of arrays on one device."""

    @functools.wraps(host)
    def chosen(many: Sequence[Any], *rest: Any) -> Any:
        return (host if isinstance(many[0], np.ndarray) else device)(many, *rest)

    chosen.host, chosen.device = host, device  # type: ignore[attr-defined]
    return chosen
