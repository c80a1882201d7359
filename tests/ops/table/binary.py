"""Functions of two and more operands, element by element."""



from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
from tests.ops.table.case import BINARY_SHAPES, Case, Input, const, of, real


def binary() -> Iterator[Case]:
    """Functions of two broadcast operands."""
    table = {
        "real": "add sub mul div atan2 hypot logaddexp logaddexp2 rsub fmod remainder copysign true_divide",
        "apart": "maximum minimum fmax fmin",
        "positive": "pow xlogy float_power",
    }
    for kind, names in table.items():
        for name in names.split():
            for a, b in BINARY_SHAPES:
                if name in ("fmod", "remainder"):  # steps where the quotient passes a whole number
                    inputs = (Input(a, "unit"), Input(b, "above one"))
                elif kind == "apart":
                    inputs = (Input(a, "apart"), Input(b, "unit"))
                else:
                    inputs = (Input(a, kind), Input(b, kind))
                yield Case(f"{name} {a} {b}", getattr(mpigrad, name), inputs)
    numbers: dict[str, Callable[[Any], Any]] = {
        "add": lambda x: x + 2.5,
        "radd": lambda x: 2.5 + x,
        "sub": lambda x: x - 2,
        "rsub": lambda x: 2 - x,
        "mul": lambda x: x * 3,
        "div": lambda x: x / 3,
        "rdiv": lambda x: 3 / x,
        "pow": lambda x: x**3,
        "pow 0": lambda x: x**0,
        "pow 2": lambda x: x**2,
        "pow 0.5": lambda x: x.abs() ** 0.5,
        "rpow": lambda x: 2.0**x,
        "neg": lambda x: -x,
        "add alpha": lambda x: mpigrad.add(x, x * x, alpha=3),
        "sub alpha": lambda x: mpigrad.sub(x, x * x, alpha=3),
        "rsub alpha": lambda x: mpigrad.rsub(x, 2.0, alpha=3),
        "fmod": lambda x: mpigrad.fmod(x, 2.7),
        "remainder": lambda x: mpigrad.remainder(x.abs(), 2.7),
        "div floor": lambda x: mpigrad.div(x, 5.0, rounding_mode="floor"),
        "div trunc": lambda x: mpigrad.div(x, 5.0, rounding_mode="trunc"),
        "xlogy of a number": lambda x: mpigrad.xlogy(2.0, x.abs()),
        "xlogy by a number": lambda x: mpigrad.xlogy(x, 2.0),
        "ldexp": lambda x: mpigrad.ldexp(x, mpigrad.tensor(2)),
        "heaviside": lambda x: mpigrad.heaviside(x, mpigrad.ones_like(x)),
    }
    for name, function in numbers.items():
        for shape in ((2, 2), (), (0,)):
            yield Case(f"with a number: {name} {shape}", function, (Input(shape),))
    yield Case("lerp tensor", mpigrad.lerp, (real(2, 3), real(3), real(2, 1)))
    yield Case("lerp number", lambda a, b: mpigrad.lerp(a, b, 0.3), (real(2, 3), real(3)))
    yield Case("addcmul", lambda a, b, c: mpigrad.addcmul(a, b, c, value=0.5), (real(2, 3), real(3), real(2, 1)))
    yield Case("addcdiv", lambda a, b, c: mpigrad.addcdiv(a, b, c, value=0.5), (real(2, 3), real(3), real(2, 1)))
    yield Case("where", mpigrad.where, (const(2, 3, kind="mask"), real(3), real(2, 1)))
    yield Case("complex", mpigrad.complex, (real(3), real(3)))
    yield Case("polar", mpigrad.polar, (of("positive", 3), real(3)))
