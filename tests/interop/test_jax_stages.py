"""JAX: arrays in calls, and stages in graphs that cross workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.interop.jax import arrays, assign, gradients, parameters, stage
from tests.support.in_memory import acting_as, world_in_memory


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        yield


def same(*values: Any) -> Any:
    return values


def total(values: dict[str, Any]) -> Any:
    assert all(isinstance(each, jax.Array) for each in jax.tree.leaves(values))
    return sum(jnp.sum(each) for each in jax.tree.leaves(values))


# -- arrays in calls ----------------------------------------------------------------------------------------------------
KINDS = ["float32", "int32", "bool", "complex64", "uint8", "float16", "bfloat16", "float8_e4m3fn", "int4"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (200, 300)])
def test_arrays_arrive_as_they_left(kind: str, shape: tuple[int, ...]) -> None:
    sent = jnp.ones(shape, kind)
    (flat,) = rpc.rpc_sync("worker1", same, args=(sent,))
    ((pickled, number),) = rpc.rpc_sync("worker1", same, args=((sent, 3),))
    for found in (flat, pickled):
        assert isinstance(found, jax.Array) and (found.dtype, found.shape) == (sent.dtype, sent.shape)
        assert bool((found == sent).all()) and number == 3


def test_pytrees_and_other_tensors_in_one_message() -> None:
    tree = {"a": jnp.arange(3.0), "b": [jnp.ones((2, 2)), mpigrad.ones(2)]}
    (found,) = rpc.rpc_sync("worker1", same, args=(tree,))
    assert isinstance(found["b"][1], mpigrad.Tensor)
    assert rpc.rpc_sync("worker1", total, args=({"a": jnp.arange(3.0)},)) == 3
    assert float(rpc.remote("worker1", total, args=({"a": jnp.ones(5)},)).to_here()) == 5


def test_keys_are_refused_with_advice() -> None:
    with pytest.raises(TypeError, match="key_data"):
        rpc.rpc_sync("worker1", same, args=(jax.random.key(0),))


# -- stages -------------------------------------------------------------------------------------------------------------
def layer(params: Any, x: Any) -> Any:
    return jnp.tanh(x @ params["w"] + params["b"])


def square(y: Any, target: Any) -> Any:
    return jnp.mean((y - target) ** 2)


def initial(seed: int) -> Any:
    key = jax.random.key(seed)
    return {"w": jax.random.normal(key, (3, 3)), "b": jnp.full(3, 0.1)}


class Layer:
    """A layer on its worker."""

    def __init__(self, seed: int) -> None:
        self.params = parameters(initial(seed))
        self.stage = stage(layer)

    def forward(self, x: Any) -> Any:
        return self.stage(self.params, x)

    def gradients(self, context_id: int) -> Any:
        return gradients(self.params, context_id)

    def rrefs(self) -> list[Any]:
        return [rpc.RRef(each) for each in jax.tree.leaves(self.params)]

    def values(self) -> Any:
        return arrays(self.params)


X, TARGET = jnp.linspace(-1, 1, 12).reshape(4, 3), jnp.ones((4, 3))


def local_loss(first: Any, second: Any) -> Any:
    return square(layer(second, layer(first, X)), TARGET)


def close(found: Any, wanted: Any) -> bool:
    return all(jax.tree.leaves(jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, atol=1e-6)), found, wanted)))


def test_gradients_across_workers_are_those_of_one_process() -> None:
    first, second = rpc.remote("worker1", Layer, args=(1,)), Layer(2)
    with dist_autograd.context() as context_id:
        hidden = first.rpc_sync().forward(X)
        loss = stage(square)(second.forward(hidden), TARGET)
        dist_autograd.backward(context_id, [loss])
        found = first.rpc_sync().gradients(context_id), second.gradients(context_id)
    wanted, grads = jax.value_and_grad(local_loss, argnums=(0, 1))(initial(1), initial(2))
    assert loss.item() == pytest.approx(float(wanted)) and close(found, grads)
    assert jax.tree.leaves(second.params)[0].grad is None


def test_a_distributed_optimizer_trains_stages() -> None:
    first, second = rpc.remote("worker1", Layer, args=(1,)), Layer(2)
    optimizer = DistributedOptimizer(mpigrad.optim.SGD, [*first.rpc_sync().rrefs(), *second.rrefs()], lr=0.1)
    wanted = initial(1), initial(2)
    for _ in range(3):
        with dist_autograd.context() as context_id:
            loss = stage(square)(second.forward(first.rpc_sync().forward(X)), TARGET)
            dist_autograd.backward(context_id, [loss])
            optimizer.step(context_id)
        wanted = step(wanted)
    assert close((first.rpc_sync().values(), arrays(second.params)), wanted)


def step(params: Any) -> Any:
    grads = jax.grad(lambda both: local_loss(*both))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def test_compiled_once_for_a_shape() -> None:
    traced = []

    def counted(x: Any, scale: Any) -> Any:
        traced.append(x.shape)
        return x * scale

    staged = stage(counted)
    for length in (2, 2, 3, 2):
        x = mpigrad.ones(length, requires_grad=True)
        staged(x, 2.0).sum().backward()
        assert x.grad.tolist() == [2] * length
    assert traced == [(2,), (3,)]
    assert staged(mpigrad.ones(2), 3.0).tolist() == [3, 3] and len(traced) == 3


def test_results_are_pytrees_and_integers_have_no_gradient() -> None:
    @stage
    def several(x: Any, *, flip: Any) -> Any:
        return {"double": 2 * x, "order": (jnp.argsort(x), [x[::-1] if flip is not None else x])}

    x = mpigrad.tensor([3.0, 1.0], requires_grad=True)
    found = several(x, flip=1)
    assert found["order"][0].tolist() == [1, 0] and not found["order"][0].requires_grad
    (found["double"].sum() + found["order"][1][0][0] * 10).backward()
    assert x.grad.tolist() == [2, 12]
    assert several(x.detach(), flip=1)["double"].tolist() == [6, 2]


def test_one_graph_with_operators_of_mpigrad() -> None:
    x = mpigrad.ones(3, requires_grad=True)
    (stage(jnp.sin)(x * 2).exp().sum()).backward()
    wanted = jax.grad(lambda x: jnp.exp(jnp.sin(x * 2)).sum())(jnp.ones(3))
    assert np.allclose(x.grad.numpy(), wanted)


def test_changed_inputs_and_a_second_backward_are_refused() -> None:
    x = mpigrad.ones(2, requires_grad=True)
    doubled = x * 1
    y = stage(jnp.sin)(doubled)
    doubled.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = stage(jnp.sin)(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_derivatives_of_derivatives() -> None:
    x, c = mpigrad.full((2,), 0.5, requires_grad=True), mpigrad.tensor([1.0, 2.0])
    value = stage(lambda x, c: jnp.sum(jnp.sin(x) * c))(x, c)
    for wanted in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)):
        (found,) = mpigrad.autograd.grad(value, x, create_graph=True)
        assert np.allclose(found.detach().numpy(), wanted(0.5) * c.numpy())
        value = found.sum()


def test_types_of_parameters_are_kept() -> None:
    """JAX computes in float32 unless it is told otherwise."""
    x = mpigrad.ones(2, dtype=mpigrad.float64, requires_grad=True)
    stage(jnp.sum)(x).backward()
    assert x.grad.dtype is mpigrad.float64


def test_errors_of_the_function_keep_their_type() -> None:
    with pytest.raises(TypeError, match="incompatible shapes"):
        stage(lambda x: x + jnp.ones(3))(mpigrad.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="incompatible shapes"):
        rpc.rpc_sync("worker1", broken, args=(mpigrad.ones(2),))


def broken(x: Any) -> Any:
    return stage(lambda x: x + jnp.ones(3))(x)


def test_assign_writes_in_place() -> None:
    params = parameters(initial(0))
    kept = params["w"]
    assign(params, jax.tree.map(jnp.zeros_like, initial(0)))
    assert params["w"] is kept and kept.abs().sum().item() == 0
    assert close(gradients(params), jax.tree.map(jnp.zeros_like, initial(0)))


def test_threads_may_run_one_stage() -> None:
    staged, failed = stage(jnp.sin), []

    def work() -> None:
        for _ in range(5):
            x = mpigrad.ones(3, requires_grad=True)
            staged(x).sum().backward()
            if not np.allclose(x.grad.numpy(), np.cos(1)):
                failed.append(x.grad)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


# -- results and numbers of all kinds -----------------------------------------------------------------------------------
@pytest.mark.parametrize("requires_grad", [False, True])
def test_results_may_contain_none(requires_grad: bool) -> None:
    x = mpigrad.ones(2, requires_grad=requires_grad)
    found = stage(lambda x: (None, {"a": 2 * x, "b": None}, jnp.arange(2)))(x)
    assert found[0] is None and found[1]["b"] is None and found[1]["a"].tolist() == [2, 2] and found[2].tolist() == [0, 1]


@pytest.mark.parametrize(
    "function", [lambda z: z * z * (1 + 1j), lambda z: (z * z.conj()).real, lambda z: z.real * z.imag], ids=["zz", "abs", "parts"]
)
@pytest.mark.parametrize("start", [1.5 + 2j, -0.5])
def test_gradients_of_complex_numbers(function: Any, start: complex) -> None:
    """As those of mpigrad's and PyTorch's operators, which are the conjugates of JAX's; the second derivatives, too."""
    made = []
    for each in (function, stage(function)):
        x = mpigrad.tensor([start], requires_grad=True)
        y = each(x * (2 - 1j))
        (grad,) = mpigrad.autograd.grad((y * (3 + 1j)).imag.sum(), x, create_graph=True)
        (second,) = mpigrad.autograd.grad((grad * grad).real.sum() if grad.is_complex() else (grad * grad).sum(), x)
        made.append((grad.detach().numpy(), second.numpy()))
    assert np.allclose(made[0], made[1], rtol=1e-5)
    assert np.abs(made[0]).min() > 0
