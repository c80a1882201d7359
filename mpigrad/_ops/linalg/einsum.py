"""`einsum`: sums of products described by subscripts, computed with permutations, sums and batched matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mpigrad._tensor import Tensor

from .._define.binary import common_dtype
from .._define.unbroadcast import to_dtype
from .matmul import bmm

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
Named = tuple[Tensor, list[str]]  # a tensor and the label of each of its dimensions


def einsum(*args: Any) -> Tensor:
    """Einstein summation: `einsum(equation, *operands)` sums products of operands over the labels that the result
    does not have.

    The equation has a letter for each dimension of each operand, then "->" and the letters of the result; without
    "->", the letters that occur once, in alphabetic order. "..." stands for dimensions that are broadcast. Operands
    may also be given as `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    >>> import mpigrad
    >>> a = mpigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> mpigrad.einsum("ij,jk->ik", a, a)
    tensor([[ 7., 10.],
            [15., 22.]])
    >>> mpigrad.einsum("ii", a)
    tensor(5.)
    """
    equation, operands = _arguments(args)
    inputs, output = _parse(equation, operands)
    sizes = _sizes(inputs, operands)
    kind = common_dtype(operands)
    named = [_without_repeats(to_dtype(each, kind), labels) for each, labels in zip(operands, inputs)]
    named = [_without_ones(each, sizes) for each in named]
    while len(named) > 1:
        second, first = named.pop(1), named.pop(0)
        later = set(output).union(*(labels for _, labels in named))
        named.insert(0, _contract(first, second, later, sizes))
    return _arranged(*named[0], output, sizes)


def _arguments(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if not isinstance(args[0], Tensor):
        operands = list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
        return args[0], operands
    lists = [args[i + 1] for i in range(0, len(args) - 1, 2)]
    equation = ",".join(_spelled(each) for each in lists)
    if len(args) % 2:
        equation += "->" + _spelled(args[-1])
    return equation, [args[i] for i in range(0, len(args) - 1, 2)]


def _spelled(subscripts: Sequence[Any]) -> str:
    for each in subscripts:
        if each is not Ellipsis and not 0 <= each < 52:
            raise ValueError(f"einsum(): subscripts must be in [0, 52), got {each}")
    return "".join("..." if each is Ellipsis else LETTERS[each] for each in subscripts)


def _parse(equation: str, operands: list[Tensor]) -> tuple[list[list[str]], list[str]]:
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(parts) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    start, wide, inputs = 0, 0, []
    for number, (part, operand) in enumerate(zip(parts, operands)):
        labels = _labels(part, start)
        start += len(part) + 1
        wide = max(wide, _spare(number, labels, operand.dim()))
        inputs.append(labels)
    inputs = [_expanded(labels, operand.dim()) for labels, operand in zip(inputs, operands)]
    ellipsis = [f".{i}" for i in range(wide - 1, -1, -1)]
    if arrow:
        return inputs, _output(right, len(left) + 2, inputs, ellipsis)
    flat = [label for labels in inputs for label in labels if not label.startswith(".")]
    return inputs, ellipsis + sorted(label for label in set(flat) if flat.count(label) == 1)


def _labels(part: str, start: int) -> list[str]:
    """The labels of one operand, whose subscripts are `part`: single letters, and "..." for an ellipsis."""
    found, place = [], 0
    while place < len(part):
        letter = part[place]
        if part.startswith("...", place):
            if "..." in found:
                raise RuntimeError(
                    f"einsum(): found '.' at index {start + place} for an operand for which an ellipsis was already "
                    "found"
                )
            found.append("...")
            place += 3
            continue
        if letter != " ":
            if letter not in LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + place} in the equation string, subscripts "
                    "must be in "
                    "[a-zA-Z]"
                )
            found.append(letter)
        place += 1
    return found


def _spare(number: int, labels: list[str], dims: int) -> int:
    """The number of dimensions for which the ellipsis of operand `number` stands; it has `dims` dimensions in all."""
    given = len(labels) - labels.count("...")
    if "..." in labels:
        if given > dims:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({given}) is more than the number of dimensions "
                f"({dims}) "
                f"for operand {number}"
            )
        return dims - given
    if given != dims:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({given}) does not match the number of dimensions "
            f"({dims}) "
            f"for operand {number} and no ellipsis was given"
        )
    return 0


def _expanded(labels: list[str], dims: int) -> list[str]:
    count = dims - len(labels) + 1
    dots = [f".{i}" for i in range(count - 1, -1, -1)]
    return [each for label in labels for each in (dots if label == "..." else [label])]


def _output(right: str, start: int, inputs: list[list[str]], ellipsis: list[str]) -> list[str]:
    found: list[str] = []
    known = {label for labels in inputs for label in labels}
    for label in _labels(right, start):
        if label != "..." and label in found:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label != "..." and label not in known:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        found.extend(ellipsis if label == "..." else [label])
    return found


def _sizes(inputs: list[list[str]], operands: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for number, (labels, operand) in enumerate(zip(inputs, operands)):
        own: dict[str, int] = {}
        for label, length in zip(labels, operand._array.shape):
            if own.setdefault(label, length) != length:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                    f"{length} != "
                    f"{own[label]}"
                )
            seen = sizes.setdefault(label, length)
            if seen == 1:
                sizes[label] = length
            elif length not in (1, seen):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {length} for operand {number} which does not broadcast with "
                    f"previously seen size {seen}"
                )
    return sizes


def _without_repeats(tensor: Tensor, labels: list[str]) -> Named:
    """Replace dimensions of one operand that have the same label by their diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = tensor.diagonal(0, first, second)
            labels = [each for i, each in enumerate(labels) if i not in (first, second)] + [label]
    return tensor, labels


def _without_ones(named: Named, sizes: dict[str, int]) -> Named:
    """Drop those dimensions of an operand that have length one and are broadcast; `sizes` has the length for each
    label.
    """
    tensor, labels = named
    shape = tensor._array.shape
    kept = [i for i, label in enumerate(labels) if shape[i] != 1 or sizes[label] == 1]
    if len(kept) == len(labels):
        return named
    return tensor.reshape([shape[i] for i in kept]), [labels[i] for i in kept]


def _summed(named: Named, keep: set[str]) -> Named:
    tensor, labels = named
    gone = tuple(i for i, label in enumerate(labels) if label not in keep)
    return (tensor.sum(gone), [label for label in labels if label in keep]) if gone else named


def _contract(a: Named, b: Named, later: set[str], sizes: dict[str, int]) -> Named:
    """The product of two operands, summed over the labels that do not occur `later` (in other operands or in the
    result).
    """
    a, b = _summed(a, later | set(b[1])), _summed(b, later | set(a[1]))
    shared = [label for label in a[1] if label in b[1]]
    batch = [label for label in shared if label in later]
    inner = [label for label in shared if label not in later]
    left = [label for label in a[1] if label not in shared]
    right = [label for label in b[1] if label not in shared]
    count = [math.prod(sizes[label] for label in group) for group in (batch, left, inner, right)]
    if not inner and not left and not right:
        return _grouped(a, batch) * _grouped(b, batch), batch
    x = _grouped(a, batch + left + inner).reshape(count[0], count[1], count[2])
    y = _grouped(b, batch + inner + right).reshape(count[0], count[2], count[3])
    labels = batch + left + right
    return bmm(x, y).reshape([sizes[label] for label in labels]), labels


def _grouped(named: Named, order: list[str]) -> Tensor:
    tensor, labels = named
    places = [labels.index(label) for label in order]
    return tensor if places == list(range(len(places))) else tensor.permute(places)


def _arranged(tensor: Tensor, labels: list[str], output: list[str], sizes: dict[str, int]) -> Tensor:
    tensor, labels = _summed((tensor, labels), set(output))
    missing = [label for label in output if label not in labels]  # a dimension of length one that was dropped before
    for label in missing:
        tensor, labels = tensor.unsqueeze(0).expand(sizes[label], *tensor.shape), [label, *labels]
    return _grouped((tensor, labels), output)


__all__ = ["einsum"]
