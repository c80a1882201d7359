"""Fusion on a GPU: a group of elementwise operators as the body of one CuPy `ElementwiseKernel`.

The kernel is generated from the same steps that run on NumPy and compiled by CuPy on first use. Multiplications and additions
are not contracted, so that a fused chain gives the same result as the single operators.
"""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import array_module

_C: dict[str, str] = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}", "exp": "exp({0})",
    "sqrt": "sqrt({0})", "tanh": "tanh({0})", "abs": "abs({0})", "reciprocal": "(T)1 / {0}", "square": "{0} * {0}",
    "sin": "sin({0})", "cos": "cos({0})", "relu": "{0} != {0} ? {0} : {0} > 0 ? {0} : (T)0", "rsqrt": "(T)1 / sqrt({0})",
    "sigmoid": "(T)1 / ((T)1 + exp(-{0}))",
}  # fmt: skip
Steps = list[tuple[Any, list[tuple[bool, int]], int]]


def body_of(names: list[str], steps: Steps, tensors: list[int]) -> str:
    """The C statements of a group: operands `x<n>` (numbers are doubles), registers `r<n>`, the result `out`.

    >>> print(body_of(["mul", "add"], [(None, [(False, 0), (False, 1)], 0), (None, [(True, 0), (False, 0)], 0)], [0]))
    T r0;
    r0 = x0 * (T)x1;
    r0 = r0 + x0;
    out = r0;
    """
    registers = sorted({target for _, _, target in steps})
    lines = [f"T {', '.join(f'r{number}' for number in registers)};"]
    for name, (_, sources, target) in zip(names, steps):
        operands = [
            f"r{place}" if inside else f"x{place}" if place in tensors else f"(T)x{place}" for inside, place in sources
        ]
        lines.append(f"r{target} = {_C[name].format(*operands)};")
    return "\n".join([*lines, f"out = r{steps[-1][2]};"])


class GpuKernel:
    """A group of operators on CuPy arrays of one shape and type, and numbers."""

    def __init__(self, names: list[str], steps: Steps, tensors: list[int], inputs: int) -> None:
        self.body, self.tensors, self.inputs = body_of(names, steps, tensors), tensors, inputs
        self.name = "mpigrad_fused_" + "_".join(names)
        self._made: Any = None

    def __call__(self, values: list[Any]) -> Any:
        if self._made is None:
            xp = array_module(values[self.tensors[0]])
            kinds = [f"{'T' if place in self.tensors else 'float64'} x{place}" for place in range(self.inputs)]
            self._made = xp.ElementwiseKernel(
                ", ".join(kinds), "T out", self.body, self.name, options=("--fmad=false",)
            )
        return self._made(*values)
