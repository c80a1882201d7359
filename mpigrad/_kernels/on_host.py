"""Kernel bodies as C++ for the host, which `setup.py` compiles into `_core/kernels`. The source is the same as for GPUs.

One thread runs over all elements, in loops that the compiler vectorises. Rows must be contiguous.
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import dropout, gelu, layer_norm, softmax, steps
from .kernel import Kernel, prelude

HERE = Path(__file__).parent
KERNELS = (
    softmax.SOFTMAX, softmax.LOG_SOFTMAX, softmax.SOFTMAX_BACKWARD, softmax.LOG_SOFTMAX_BACKWARD,
    layer_norm.LAYER_NORM, layer_norm.LAYER_NORM_BACKWARD, layer_norm.LAYER_NORM_PARAMETERS,
    gelu.GELU, gelu.GELU_BACKWARD, gelu.GELU_TANH, gelu.GELU_TANH_BACKWARD,
    dropout.DROPOUT, steps.SGD, steps.ADAM, steps.ADAGRAD,
)  # fmt: skip
_TYPES = "fd"
# Optimizer steps round as NumPy does, so that results do not depend on the strides of a parameter.
_EXACT = '#pragma GCC push_options\n#pragma GCC optimize("no-associative-math", "fp-contract=off")\n'
_ONE_THREAD = """
#undef EACH
#undef EACH_ROW
#undef EACH_OF_TEAM
#undef EACH_OF_PIECE
#define EACH(i, n) _Pragma("GCC ivdep") for (i64 i = 0; i < (n); i++)
#define EACH_ROW(row, rows, team) for (i64 row = 0; row < (rows); row++)
#define EACH_OF_TEAM(k, length, team) _Pragma("GCC ivdep") for (i64 k = 0; k < (length); k++)
#define EACH_OF_PIECE(i, piece) _Pragma("GCC ivdep") for (i64 i = (piece).begin; i < (piece).end; i++)
template <class How, class A> INLINE A joined_by_one(A mine, i64, A *) { return mine; }
#define joined joined_by_one
"""


def _arguments(kernel: Kernel) -> list[tuple[str, str]]:
    """For each parameter of a kernel: letters that say what the host passes, and the C expression for the parameter.

    "r" is an array that is read, "w" one that is written, "s" the size of a table's arrays, "i" a signed and "u" an unsigned
    integer, "d" a double, "" nothing. A table of arrays takes six arguments.
    """
    made, at = [], 0
    for kind, name in zip(kernel.types(), (each.strip().rpartition(" ")[2] for each in kernel.parameters.split(","))):
        if "Table" in kind:
            made.append(("wrwwws", "table"))
            at += 6
        elif name in ("inner", "team"):
            made.append(("", "1"))
        elif kind.endswith("*"):
            made.append(("r" if kind.startswith("const") else "w", f"({kind})a[{at}].p"))
            at += 1
        else:
            letter = {"i64": "i", "u64": "u", "double": "d"}[kind]
            made.append((letter, f"a[{at}].{letter}"))
            at += 1
    return made


def _function(kernel: Kernel, letters: str) -> str:
    symbol, arguments = kernel.symbol(letters), ", ".join(each for _, each in _arguments(kernel))
    call = f"{symbol}({arguments});"
    if "Table" in kernel.parameters:
        call = (
            "Table table; table.count = 1; for (int role = 0; role < 5; role++) table.at[role][0] = (u64)a[role].p; "
            "table.size[0] = a[5].i; table.first[0] = 0; table.first[1] = (a[5].i + PIECE - 1) / PIECE; "
            f"for (i64 b = 0; b < table.first[1]; b++) {{ blockIdx.x = (unsigned)b; {call} }}"
        )
    head = f"namespace {symbol}_types {{ CHOSEN static void on_host(const HostArgument *a) {{"
    made = f"{kernel.function(letters)}{head} {call} }} }}\n"
    return f"{_EXACT}{made}#pragma GCC pop_options\n" if "Table" in kernel.parameters else made


def source() -> str:
    """The compilation unit, with a table of its functions."""
    entries = []
    for kernel in KERNELS:
        functions = ", ".join(f"{kernel.symbol(letters)}_types::on_host" for letters in _TYPES)
        kinds = "".join(kind for kind, _ in _arguments(kernel))
        entries.append(f'  {{"{kernel.name}", "{kinds}", {{{functions}}}}},\n')
    bodies = "".join(_function(kernel, letters) for kernel in KERNELS for letters in _TYPES)
    return (
        f"{(HERE / 'host_table.h').read_text()}{(HERE / 'host.h').read_text()}{prelude()}{_ONE_THREAD}{bodies}"
        f"const HostKernel mpigrad_host_kernels[] = {{\n{''.join(entries)}  {{0, 0, {{0, 0}}}}}};\n"
    )


if __name__ == "__main__":
    file, text = Path(sys.argv[1]), source()
    if not file.exists() or file.read_text() != text:  # an unchanged file is not compiled again
        file.write_text(text)
