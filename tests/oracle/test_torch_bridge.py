"""A torch module as one node of a mpigrad graph, as docs/interop.md shows it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"


def layer() -> type:
    """The class of the page."""
    (code,) = re.findall(r"^    class TorchLayer.*?(?=^\S)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names = {"mpigrad": mpigrad, "torch": torch}
    exec(textwrap.dedent(code), names)
    return names["TorchLayer"]


def test_gradients_go_through_a_torch_module() -> None:
    module = torch.nn.Linear(3, 2)
    x = mpigrad.ones(4, 3, requires_grad=True)
    (layer().apply(x, module) ** 2).sum().backward()
    same = torch.ones(4, 3, requires_grad=True)
    (module(same) ** 2).sum().backward()
    assert mpigrad.allclose(x.grad, mpigrad.from_dlpack(same.grad))


def test_the_same_in_a_context() -> None:
    module = torch.nn.Linear(3, 2)
    rpc.init_rpc("solo", rank=0, world_size=1)
    try:
        x = mpigrad.ones(4, 3, requires_grad=True)
        with dist_autograd.context() as context_id:
            y = rpc.rpc_sync("solo", mpigrad.mul, args=(x, 2))
            dist_autograd.backward(context_id, [layer().apply(y, module).sum()])
            found = dist_autograd.get_gradients(context_id)[x]
    finally:
        rpc.shutdown()
    assert mpigrad.allclose(found, mpigrad.from_dlpack(2 * module.weight.detach().sum(0)).expand(4, 3))


@pytest.mark.parametrize("meet", [
    lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a @ b, lambda a, b: b @ a, lambda a, b: a < b, lambda a, b: b**a,
    lambda a, b: mpigrad.mul(b, a), lambda a, b: mpigrad.matmul(a, b), lambda a, b: mpigrad.exp(a),
    lambda a, b: mpigrad.cat([b, a]), lambda a, b: b.index_select(0, a), lambda a, b: b.gather(0, a), lambda a, b: b.take(a),
])  # fmt: skip
def test_where_tensors_of_both_meet_the_error_says_whose_they_are_and_what_to_do(meet) -> None:
    with pytest.raises(TypeError, match=r"torch\.Tensor[;:] convert with mpigrad\.from_dlpack\(x\)"):
        meet(torch.ones(2), mpigrad.ones(2))
    assert (mpigrad.ones(2) == torch.ones(2)) is False  # as with any other object


def test_tensors_of_torch_are_indices_as_numpy_arrays_are() -> None:
    x = mpigrad.arange(12).reshape(3, 4)
    rows, mask = torch.tensor([0, 2]), torch.tensor([True, False, True])
    assert x[rows].tolist() == x[mask].tolist() == x[[0, 2]].tolist()
    assert x[:, rows].tolist() == x[:, [0, 2]].tolist() and x[torch.tensor(1)].tolist() == x[1].tolist()
    x[rows] = 0
    assert x.sum().item() == 22
    with pytest.raises(IndexError, match="tensors used as indices must be"):
        x[torch.tensor([0.5])]
