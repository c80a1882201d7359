"""What nodes saved, by PyTorch's names: the same tensors under the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")

EXPRESSIONS = """
x.exp() | x.tanh() | x.sigmoid() | x.relu() | x * y | x / y | x**2 | x.sin() | x.abs().log() | x.abs().sqrt() | x @ y.t()
T.addmm(x[:, :2], x, y.t()) | x.prod() | x.max() | x.norm() | x.softmax(0) | x.log_softmax(1) | x.clamp(-1, 1) | x.std()
T.where(x > 0, x, y) | x.index_select(0, T.tensor([1])) | x.masked_fill(x > 0, 1.0) | x.logsumexp(0) | x.var() | x.erf()
x.lerp(y, y) | x.mv(y[0]) | x[0].dot(y[0]) | x.atan2(y) | T.maximum(x, y) | x.cumprod(0) | F.gelu(x) | F.softplus(x)
F.linear(x, y) | F.mse_loss(x, y) | F.conv1d(x[None], y[None]) | F.silu(x) | x - y | x.sum() | x.tan() | x.expm1()
T.linalg.inv(x[:, :2]) | x * 3
""".strip()


def saved(library: Any, expression: str) -> dict[str, Any]:
    x, y = (
        library.tensor(np.arange(6.0).reshape(2, 3) * by + shift, requires_grad=True) for by, shift in ((1, -2.4), (0.3, 0.2))
    )
    node = eval(expression, {"T": library, "F": library.nn.functional, "x": x, "y": y}).grad_fn
    found = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    return {name: value.tolist() for name, value in found.items() if isinstance(value, library.Tensor)}


@pytest.mark.parametrize("expression", [each.strip() for each in EXPRESSIONS.replace("\n", "|").split("|")])
def test_saved_names(expression: str) -> None:
    ours, theirs = saved(mpigrad, expression), saved(torch, expression)
    assert ours.keys() == theirs.keys() or expression == "x * 3"  # which saves the number, as a tensor, here
    for name in theirs:
        np.testing.assert_allclose(ours[name], theirs[name], err_msg=name)
