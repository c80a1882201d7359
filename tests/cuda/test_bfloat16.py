"""bfloat16 on GPUs: stored, converted, computed with and sent; results are those of the CPU, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad.testing import World

CUDA0 = mpigrad.device("cuda:0")
VALUES = [0.0, -0.0, 1.00390625, 1.01171875, -3.3, 3.4e38, 1e-40, float("inf"), float("nan")]  # with ties, and subnormal


def bits(x: mpigrad.Tensor) -> list[int]:
    return x.detach().cpu().numpy().view(np.uint16).tolist()


def test_conversions_round_as_on_the_cpu() -> None:
    here = mpigrad.tensor(VALUES)
    there = here.to(CUDA0).bfloat16()
    assert there.dtype is mpigrad.bfloat16 and there.device == CUDA0
    assert bits(there)[:-1] == bits(here.bfloat16())[:-1] and there[-1].isnan().item()
    assert there.float().tolist()[:-1] == here.bfloat16().float().tolist()[:-1]
    assert mpigrad.cuda.is_bf16_supported()


def work(place: Any) -> list[mpigrad.Tensor]:
    """Operators, gradients and a few steps of training."""
    x = (mpigrad.arange(12).reshape(3, 4) / 7 - 0.8).bfloat16().to(place).requires_grad_()
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).bfloat16()
    with mpigrad.no_grad():
        for parameter in model.parameters():
            parameter.copy_((mpigrad.arange(parameter.numel()).reshape(parameter.shape) / 9 - 0.5).bfloat16())
    model.to(place)
    steps = mpigrad.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
    for _ in range(2):
        steps.zero_grad()
        loss = nn.functional.cross_entropy(model(x), mpigrad.tensor([0, 2, 1], device=place))
        loss.backward()
        steps.step()
    made = [x + 1, x * x - x / 3, x @ x.t(), x.exp().sum(0), x.max(1).values, mpigrad.cat([x, x])[2:, ::2], x[x > 0]]
    return [*made, loss, *model.parameters(), x.grad]  # type: ignore[list-item]


def test_operators_gradients_and_training_as_on_the_cpu() -> None:
    for here, there in zip(work("cpu"), work(CUDA0)):
        assert there.dtype is mpigrad.bfloat16 and there.device == CUDA0
        np.testing.assert_allclose(there.float().tolist(), here.float().tolist(), rtol=2**-7, atol=2**-8)


def test_sums_are_added_up_in_float32() -> None:
    assert mpigrad.ones(1000, dtype=mpigrad.bfloat16, device=CUDA0).sum().item() == 1000


def twice(x: mpigrad.Tensor) -> mpigrad.Tensor:
    assert x.dtype is mpigrad.bfloat16 and x.device.type == "cuda"
    return x * 2


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("length", [3, 300_000])
def test_calls_and_distributed_gradients(swapped: World, length: int) -> None:
    x = (mpigrad.arange(length) % 64).bfloat16().to(CUDA0).requires_grad_()
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync(swapped.next_name, twice, args=(x,))
        assert y.dtype is mpigrad.bfloat16 and y.device == CUDA0 and bool((y == x * 2).all())
        dist_autograd.backward(context_id, [(y * x).sum()])
        grad = dist_autograd.get_gradients(context_id)[x]
    assert grad.dtype is mpigrad.bfloat16 and bool((grad == 4 * x).all())
    swapped.barrier()
