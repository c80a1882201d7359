"""Variants of operators for compiled graphs, generated as source: for dense float tensors on the host.

A variant checks the classes, types and shapes of its operands, calls NumPy, wraps the result and records it. Other operands are
passed to the function `otherwise`. Generated code is 10 % faster than a closure that several operators share, because the
interpreter specialises it for its operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._ops._define.binary import F32, F64
from mpigrad._tensor import Tensor

_NAMES: dict[str, Any] = {
    "Tensor": Tensor, "TRACING": TRACING, "MODE": MODE, "ndarray": np.ndarray, "F32": F32, "F64": F64, "asarray": np.asarray,
    "wrap": wrap,
}  # fmt: skip


def written(
    inputs: int,
    tensors: Sequence[int],
    steps: Sequence[str],
    otherwise: Callable[..., Any],
    uses: dict[str, Any],
    *,
    numbers: dict[int, float] | None = None,
    also: str = "",
    same_shape: bool = True,
    recording: str | Callable[..., Any],
) -> Callable[..., Any]:
    """A function of `inputs` operands `x0`, `x1`, ...; those in `tensors` are tensors with arrays `a0`, `a1`, ...

    `steps` compute `out` from them, with the objects that `uses` names. `numbers` are constant operands: tensors `b<n>` with
    arrays `a<n>` of the others' type. `also` must hold too; `same_shape` says whether all arrays must have one shape.
    `recording` is the statement that records `made`, or the function to call instead where a gradient is required."""
    numbers = numbers or {}
    space = {**_NAMES, **uses, "otherwise": otherwise}
    given = [f"x{number}" for number in range(inputs)]
    leave = f"return otherwise({', '.join(given)})"
    first, *others = (f"a{number}" for number in tensors)
    classes = [f"x{number}.__class__ is not Tensor" for number in tensors]
    required = " or ".join(f"x{number}._requires" for number in tensors)
    fit = [f"{each}.__class__ is ndarray and {each}.dtype is kind" for each in others]
    fit += [f"{each}.shape == {first}.shape" for each in others if same_shape]
    fit += [also] if also else []
    node = []
    if callable(recording):
        space["elsewhere"] = recording
    else:
        node = [f"    if ({required}) and MODE.enabled: {recording}"]
    lines = [
        f"def call({', '.join(given)}):",
        f"    if {' or '.join([*classes, 'TRACING.detour'])}: {leave}",
        *([] if node else [f"    if {required}: return elsewhere({', '.join(given)})"]),
        *(f"    a{number} = x{number}._array" for number in tensors),
        f"    kind = {first}.__class__ is ndarray and {first}.dtype",
        f"    if kind is F32: {_chosen(numbers, 'single')}",
        f"    elif kind is F64: {_chosen(numbers, 'double')}",
        f"    else: {leave}",
        *([f"    if not ({' and '.join(fit)}): {leave}"] if fit else []),
        *(f"    {step}" for step in steps),
        "    made = wrap(out if out.__class__ is ndarray else asarray(out))",
        *node,
        "    return made",
    ]
    for place, number in numbers.items():
        space[f"single{place}"], space[f"double{place}"] = map(wrap, constants(number))
    exec("\n".join(lines), space)
    return space["call"]


def _chosen(numbers: dict[int, float], precision: str) -> str:
    return "; ".join(f"b{place} = {precision}{place}; a{place} = b{place}._array" for place in numbers) or "pass"


def constants(number: float) -> tuple[Any, Any]:
    """A number as two read-only arrays, of single and of double precision."""
    made = np.array(number, F32), np.array(number, F64)
    for each in made:
        each.flags.writeable = False
    return made


def is_constant(value: Any) -> bool:
    """Whether a value is a number that single precision can represent without overflow."""
    return type(value) in (int, float) and abs(value) < 1e30
