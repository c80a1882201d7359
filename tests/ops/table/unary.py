"""Functions of each element."""



from __future__ import annotations

from collections.abc import Iterator

import mpigrad
import mpigrad.nn.functional as F
from tests.ops.table.case import UNARY_SHAPES, Case, Input, of, real


def unary() -> Iterator[Case]:
    """Functions of each element."""
    table: dict[str, str] = {
        "real": "abs acosh_ angle asinh atan ceil cos cosh deg2rad digamma erf erfc exp exp2 expm1 floor frac lgamma nan_to_num "
        "neg rad2deg reciprocal relu round sgn sigmoid sign sin sinc sinh square tan tanh trunc positive fix absolute",
        "positive": "log log10 log1p log2 rsqrt sqrt digamma lgamma",
        "unit": "acos asin atanh erfinv arccos arcsin arctanh",
        "above one": "acosh arccosh",
        "probability": "logit",
    }
    for kind, names in table.items():
        for name in names.split():
            function = getattr(mpigrad, name, None)
            if name.endswith("_") or function is None:
                continue
            for shape in UNARY_SHAPES:
                yield Case(f"{name} {shape}", function, (Input(shape, kind),))
    activations = (
        "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus "
        "softshrink softsign tanhshrink relu"
    )
    for name in activations.split():
        for shape in UNARY_SHAPES:
            yield Case(f"{name} {shape}", getattr(F, name), (Input(shape),))
    yield Case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), (real(2, 3),))
    yield Case("threshold", lambda x: F.threshold(x, 0.1, 20.0), (real(2, 3),))
    yield Case("polygamma", lambda x: mpigrad.polygamma(1, x), (of("positive", 3),))
    yield Case("round to digits", lambda x: mpigrad.round(x, decimals=1), (real(3),))
    yield Case("clamp numbers", lambda x: mpigrad.clamp(x, -0.7, 0.7), (real(2, 3),))
    yield Case(
        "clamp tensors", lambda x, a, b: mpigrad.clamp(x * 3, a - 1, b + 1), (real(4), of("unit", 4), of("unit", 4))
    )
    yield Case("clamp_max number", lambda x: mpigrad.clamp_max(x, 0.5), (real(2, 3),))
    yield Case("clamp_min number", lambda x: mpigrad.clamp_min(x, 0.5), (real(2, 3),))
    yield Case("copysign number", lambda x: mpigrad.copysign(x, -1.0), (real(2, 3),))
    yield Case("clamp_min", lambda x, a: mpigrad.clamp_min(x, a), (of("apart", 2, 2), of("unit", 2)))
    yield Case("clamp_max", lambda x, a: mpigrad.clamp_max(x, a), (of("apart", 2, 2), of("unit", 2)))
