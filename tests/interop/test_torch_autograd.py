"""Distributed autograd on torch graphs: gradients equal those of the same program in one process."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.autograd import guests
from mpigrad._core.autograd.contexts import DistAutogradContext
from mpigrad._core.rpc.agent import Agent
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.rpc._testing.faults import Faults
from tests.interop import torch_scripts as scripts
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory


@pytest.fixture(autouse=True)
def agents() -> Iterator[list[Agent]]:
    with world_in_memory(3) as found, acting_as(found[0]):
        yield found


def leaf(*shape: int) -> Any:
    return torch.rand(*shape, requires_grad=True)


def remote(rank: int, function: Any, *args: Any) -> Any:
    return rpc.rpc_sync(f"worker{rank}", function, args=args)


def local(rank: int, function: Any, *args: Any) -> Any:
    return function(*args)


def same_gradients(program: Any, *leaves: Any, agree: float = 1e-6) -> None:
    """Run a program on workers and in one process; `program(call)` returns a loss."""
    expected = torch.autograd.grad(program(local), leaves, allow_unused=True)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [program(remote)])
        found = dist_autograd.get_gradients(context_id)
    for each, gradient in zip(leaves, expected):
        assert each.grad is None
        if gradient is None:
            assert each not in found or not found[each].any()
        else:
            torch.testing.assert_close(found[each], gradient, atol=agree, rtol=1e-4)


def product_and_sum(x: Any, y: Any) -> Any:
    return x * y, x + y


def nested(x: Any, y: Any) -> Any:
    """Sends what it also uses, and uses what comes back."""
    product, total = x * y, x + y
    back = rpc.rpc_sync("worker2", torch.add, args=(product, total))
    return x * y * product * total * back


def nested_here(x: Any, y: Any) -> Any:
    product, total = x * y, x + y
    return x * y * product * total * (product + total)


def test_a_remote_operator() -> None:
    x, y = leaf(2, 3), leaf(2, 3)
    same_gradients(lambda call: call(1, torch.add, x, y).sum(), x, y)
    with dist_autograd.context():
        found = remote(1, torch.add, x, y)
        assert found.grad_fn.name() == "torch::distributed::autograd::RecvRpcBackward" and not found.is_leaf
        found += 1  # as with PyTorch


def test_graphs_are_freed_without_the_garbage_collector() -> None:
    x = leaf(3)

    def step() -> None:
        with dist_autograd.context() as context_id:
            h = torch.sin(x)
            dist_autograd.backward(context_id, [(remote(1, torch.tanh, h) * h).sum()])

    step()
    gc.collect()
    gc.disable()
    try:
        step()
        assert eventually(lambda: not len(guests._outputs)) and not gc.collect()
    finally:
        gc.enable()


def test_a_tensor_that_is_sent_and_also_used_here() -> None:
    x, y = leaf(2, 3), leaf(2, 3)

    def program(call: Any) -> Any:
        h = torch.sin(x)
        one = call(1, torch.tanh, h)
        two, _ = call(2, product_and_sum, h * 2, y)
        return (h * one + two * call(1, torch.exp, one)).sum()

    same_gradients(program, x, y)


def test_results_depend_on_each_other_through_other_workers() -> None:
    x, y = leaf(3), leaf(3)
    same_gradients(lambda call: (nested if call is remote else nested_here)(x, y).sum(), x, y)
    same_gradients(lambda call: call(1, nested if call is remote else nested_here, x, y).sum(), x, y)


def test_unused_results_several_roots_and_several_passes() -> None:
    x, y = leaf(3), leaf(3)
    same_gradients(lambda call: call(1, product_and_sum, x, y)[1].sum(), x, y)
    with dist_autograd.context() as context_id:
        one, two = remote(1, product_and_sum, x, y)
        roots = [one.sum(), two.sum()]
        dist_autograd.backward(context_id, roots, retain_graph=True)
        dist_autograd.backward(context_id, [roots[0]])
        found = dist_autograd.get_gradients(context_id)
    torch.testing.assert_close(found[x], 2 * y + 1)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("broken backward")


def doubled(x: Any) -> Any:
    return Doubled.apply(x)


def broken(x: Any) -> Any:
    return Broken.apply(x)


def clipped(x: Any) -> Any:
    y = x * 3
    y.register_hook(lambda grad: grad.clamp(max=1))
    return y * y


def test_custom_functions_and_hooks() -> None:
    x = leaf(3)
    same_gradients(lambda call: call(1, doubled, x * 2).sum(), x)
    same_gradients(lambda call: call(1, clipped, x).sum(), x)

    def hooked(call: Any) -> Any:
        h = x * 2
        h.register_hook(lambda grad: grad.clamp(max=1.5))  # not linear: it must get the sum of all gradients
        return (call(1, torch.mul, h, 2) + h).sum()

    same_gradients(hooked, x)


def through_held(holder: Any, x: Any) -> Any:
    """The module stays where it is, so its hooks need not be sent: the call is made from another worker."""
    return rpc.rpc_sync(holder.owner(), through_here, args=(holder, x))


def through_here(holder: Any, x: Any) -> Any:
    return holder.local_value()(x)


HELD = {remote: through_held, local: through_here}


def test_hooks_of_modules() -> None:
    module, seen, x = nn.Linear(3, 2), [], leaf(2, 3)
    module.register_forward_hook(lambda _, args, result: result * 2)
    module.register_full_backward_pre_hook(lambda _, grads: (grads[0].clamp(max=0.5),))
    module.register_full_backward_hook(lambda _, grads, given: seen.append((grads[0].shape, given[0].max().item())))
    holder = rpc.RRef(module)
    same_gradients(lambda call: call(1, HELD[call], holder, x * 2).square().sum(), x)
    assert len(seen) == 2 and seen[0] == seen[1]


RECORDED: list[bool] = []


def watched(x: Any) -> Any:
    ours, y = mpigrad.ones(3, requires_grad=True), x * 2
    y.register_hook(lambda grad: RECORDED.append((ours * 2).requires_grad))
    return y


def test_what_hooks_compute_with_mpigrad_is_not_recorded() -> None:
    """Neither below one tensor that was sent, which is a path, nor below two."""
    RECORDED.clear()
    x = leaf(3)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [remote(1, watched, x).sum()])
        h = watched(x)
        dist_autograd.backward(context_id, [(remote(1, torch.exp, h) + remote(2, torch.exp, h)).sum()])
    assert RECORDED == [False, False] and mpigrad.is_grad_enabled()


class Loss(torch.Tensor):
    """A subclass, which RPC would pickle."""


def test_a_root_may_be_of_a_subclass() -> None:
    x = leaf(3)
    same_gradients(lambda call: call(1, torch.mul, x, 3).sum().as_subclass(Loss), x)
    with dist_autograd.context() as context_id, pytest.raises(RuntimeError, match=r"shape \[3\] is not a scalar"):
        dist_autograd.backward(context_id, [remote(1, torch.mul, x, 3).as_subclass(Loss)])


def test_messages_that_fail_or_come_late(agents: list[Agent]) -> None:
    x, y = leaf(2, 3), leaf(2, 3)

    def program(call: Any) -> Any:
        product, total = call(1, product_and_sum, x, y)
        return (product * total).sum()

    agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 1)
    with dist_autograd.context(), pytest.raises(RuntimeError, match="Send attempt failed intentionally for PYTHON_CALL"):
        program(remote)
    same_gradients(program, x, y)
    agents[0].sender.faults = Faults(["BACKWARD_AUTOGRAD_REQ"], {}, 1)
    with dist_autograd.context() as context_id:
        with pytest.raises(RuntimeError, match="Send attempt failed intentionally for BACKWARD_AUTOGRAD_REQ"):
            dist_autograd.backward(context_id, [program(remote)])
        assert not dist_autograd.get_gradients(context_id)
    agents[0].sender.faults = Faults([], {"PYTHON_CALL": 0.05, "BACKWARD_AUTOGRAD_REQ": 0.05}, 0)
    began = time.monotonic()
    same_gradients(program, x, y)
    assert time.monotonic() - began > 0.1


def test_received_tensors_are_what_users_expect() -> None:
    """Several in one message, changed in place, detached, and without recording."""
    x, y = leaf(3), leaf(3)
    with dist_autograd.context() as context_id:
        a, b = remote(1, product_and_sum, x, y)
        assert not a.is_leaf and a.requires_grad and (a.output_nr, b.output_nr) == (0, 1) and a.grad_fn is b.grad_fn
        a.mul_(2)
        b[0] = 0
        dist_autograd.backward(context_id, [(a * b).sum()])
        found = dist_autograd.get_gradients(context_id)
        c = remote(1, torch.exp, x)
        c.detach_()
        assert c.is_leaf and not c.requires_grad
        with torch.no_grad():
            assert not remote(1, torch.exp, x).requires_grad
    mask = torch.tensor([0.0, 1.0, 1.0])
    expected = torch.autograd.grad((2 * x * y * (x + y) * mask).sum(), (x, y))
    torch.testing.assert_close([found[x], found[y]], list(expected))


def test_hooks_of_leaves_and_of_received_tensors_get_the_sum() -> None:
    x, seen = leaf(3), []
    x.register_hook(lambda grad: seen.append(grad.clone()))
    with dist_autograd.context() as context_id:
        a, b = remote(1, torch.mul, x, 2), remote(2, torch.mul, x * 3, 2)
        a.register_hook(lambda grad: seen.append(grad.clone()))
        dist_autograd.backward(context_id, [(a + b + remote(1, torch.add, a, 1)).sum()])
        found = dist_autograd.get_gradients(context_id)[x]
    assert [each.tolist() for each in seen] == [[2, 2, 2], [10, 10, 10]] and found.tolist() == [10, 10, 10]


def test_errors_reach_the_initiator() -> None:
    x = leaf(3)
    with dist_autograd.context() as context_id:
        with pytest.raises(RuntimeError, match="broken backward") as error:
            dist_autograd.backward(context_id, [remote(1, broken, x).sum()])
        assert isinstance(error.value, KeyError)
        with pytest.raises(RuntimeError, match="does not have a valid gradient function"):
            dist_autograd.backward(context_id, [leaf(1)])
        with pytest.raises(RuntimeError, match="requires_grad not set on root"):
            dist_autograd.backward(context_id, [torch.ones(())])
        with pytest.raises(RuntimeError, match="is not a scalar"):
            dist_autograd.backward(context_id, [x * 2])
        loss = remote(1, torch.exp, x).sum()
        dist_autograd.backward(context_id, [loss])
        with pytest.raises(RuntimeError, match="second time"):
            dist_autograd.backward(context_id, [loss])


MODULE = nn.Linear(3, 3)


def through_module(x: Any) -> Any:
    return MODULE(x)


def test_parameters_of_other_workers(agents: list[Agent]) -> None:
    x = torch.rand(2, 3)  # requires no grad: the result does, because of the parameters there
    expected = torch.autograd.grad(through_module(x).sum(), list(MODULE.parameters()))
    with dist_autograd.context() as context_id:
        y = remote(1, through_module, x)
        assert y.requires_grad
        dist_autograd.backward(context_id, [y.sum()])
        assert not dist_autograd.get_gradients(context_id)
        with acting_as(agents[1]):
            found = dist_autograd.get_gradients(context_id)
    for each, gradient in zip(MODULE.parameters(), expected):
        torch.testing.assert_close(found[each], gradient)
    with torch.no_grad(), dist_autograd.context():
        assert not remote(1, torch.add, leaf(2), 1).requires_grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.complex128])
def test_element_types(dtype: Any) -> None:
    x = torch.arange(4).to(dtype).requires_grad_()
    same_gradients(lambda call: (call(1, torch.mul, x, x) * x).abs().sum(), x, agree=1e-2)


def test_sparse_gradients() -> None:
    table = leaf(5, 3)
    with dist_autograd.context() as context_id:
        rows = remote(1, look_up, table)
        dist_autograd.backward(context_id, [rows.sum()])
        found = dist_autograd.get_gradients(context_id)[table]
    assert found.is_sparse and found.to_dense().sum(1).tolist() == [0, 6, 3, 0, 0]


def look_up(table: Any) -> Any:
    return nn.functional.embedding(torch.tensor([1, 2, 1]), table, sparse=True)


def test_both_frameworks_in_one_context() -> None:
    x, m = leaf(3), mpigrad.ones(3, requires_grad=True)
    with dist_autograd.context() as context_id:
        (a, _), (b, _) = remote(1, product_and_sum, x, x), remote(1, product_and_sum, m, m)
        c, d = remote(2, both, x, m)
        dist_autograd.backward(context_id, [a.sum(), b.sum(), c.sum(), d.sum()])
        found = dist_autograd.get_gradients(context_id)
    torch.testing.assert_close(found[x], 2 * x + 2)
    assert found[m].tolist() == [5, 5, 5] and type(found[m]) is mpigrad.Tensor


def both(x: Any, m: Any) -> Any:
    return x * 2, m * 3


def test_higher_derivatives() -> None:
    x = leaf(3)
    with dist_autograd.context() as context_id:
        loss = remote(1, torch.pow, x, 3).sum()
        (first,) = dist_autograd.grad(context_id, loss, x, create_graph=True)
        (second,) = dist_autograd.grad(context_id, first.sum(), x)
        assert not dist_autograd.get_gradients(context_id)
    torch.testing.assert_close(first, 3 * x * x)
    torch.testing.assert_close(second, 6 * x)


def test_passes_on_several_threads(agents: list[Agent]) -> None:
    x, errors = leaf(3), []

    def work() -> None:
        try:
            with acting_as(agents[0]):
                for _ in range(5):
                    same_gradients(lambda call: (call(1, torch.mul, x, x) * call(2, torch.sin, x)).sum(), x)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_over_random_workers(seed: int) -> None:
    ours = [mpigrad.tensor([0.1, 0.2], requires_grad=True), mpigrad.tensor([0.3, 0.1], requires_grad=True)]
    leaves = [torch.tensor(each.tolist(), requires_grad=True) for each in ours]

    def run(call: Any, values: list[Any], space: Any) -> Any:
        chance = random.Random(seed)
        values = list(values)
        for _ in range(10):
            rank, name = chance.randrange(3), chance.choice(["sin", "tanh", "exp", "add", "mul", "sub"])
            function, few = getattr(space, name), 1 if name in ("sin", "tanh", "exp") else 2
            args = [chance.choice(values) for _ in range(few)]
            values.append((call if chance.random() < 0.6 else local)(rank, function, *args))
        return (values[-1] * 0.1 + values[-2] * chance.choice(values) * 0.01).sum()

    same_gradients(lambda call: run(call, leaves, torch), *leaves, agree=1e-3)
    with dist_autograd.context() as context_id:  # the same, half of it in the other framework
        losses = [run(remote, leaves, torch), run(remote, ours, mpigrad)]
        dist_autograd.backward(context_id, losses)
        found = dist_autograd.get_gradients(context_id)
    for one, other in zip(leaves, ours):
        assert (one in found) == (other in found)
        if one in found:
            assert found[one].tolist() == pytest.approx(found[other].tolist(), rel=1e-4)


# -- functions, modules, scripts ---------------------------------------------------------------------------------------
class Stage(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.layer(x))

    def parameter_rrefs(self) -> list[Any]:
        return [rpc.RRef(each) for each in self.parameters()]


def gradient_there(context_id: int, parameter: Any) -> Any:
    return dist_autograd.get_gradients(context_id)[parameter.local_value()]


def test_modules_through_rrefs() -> None:
    stage, x = rpc.remote("worker1", Stage, args=(3,)), leaf(2, 3)
    here = stage.to_here()  # a copy
    expected = torch.autograd.grad(here(x).sum(), [x, *here.parameters()])
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [stage.rpc_sync().forward(x).sum()])
        torch.testing.assert_close(dist_autograd.get_gradients(context_id)[x], expected[0])
        for each, gradient in zip(stage.rpc_sync().parameter_rrefs(), expected[1:]):
            torch.testing.assert_close(rpc.rpc_sync("worker1", gradient_there, args=(context_id, each)), gradient)


def test_functions_of_torch() -> None:
    x = leaf(2, 3)
    same_gradients(lambda call: call(1, nn.functional.softmax, call(2, nn.functional.linear, x, x), 1).square().sum(), x)
    assert torch.equal(remote(1, torch.Tensor.add, x, 1), x + 1)
    assert torch.equal(remote(1, MODULE.forward, torch.zeros(3)), MODULE(torch.zeros(3)))
    assert torch.equal(remote(1, MODULE, torch.zeros(3)), MODULE(torch.zeros(3)))


def test_remote_modules() -> None:
    x = leaf(2, 3)
    layer = RemoteModule("worker1/cpu", nn.Linear, args=(3, 2))
    weight, bias = layer.remote_parameters()
    expected = torch.autograd.grad(nn.functional.linear(x, weight.to_here(), bias.to_here()).square().sum(), x)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [layer(x).square().sum()])
        torch.testing.assert_close(dist_autograd.get_gradients(context_id)[x], expected[0])
        assert rpc.rpc_sync("worker1", gradient_there, args=(context_id, weight)).shape == (2, 3)
    with pytest.raises(ValueError, match="returns an instance of <class nn.Module>"):
        RemoteModule("worker1", dict)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_scripts() -> None:
    script = torch.jit.script(Stage(3))
    x = leaf(2, 3)
    same_gradients(lambda call: call(1, run_script, script, x).sum(), x)
    same_gradients(lambda call: call(1, torch.jit.script(scripted), x).sum(), x)
    same_gradients(lambda call: call(1, scripts.double_sine, x).sum(), x)
    assert remote(1, take, scripts.double_sine) is scripts.double_sine


def run_script(script: Any, x: Any) -> Any:
    return script(x)


def take(value: Any) -> Any:
    return value


def scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x) * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_deterministic_sums_do_not_depend_on_the_order_of_arrival(dtype: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    scales = [1e-3, 1.0, 1e3, 1e-1, 1e2, 10.0]
    terms = [(torch.randn(20, generator=generator) * scale).to(dtype) for scale in scales]

    def bits() -> set[bytes]:
        variable = torch.zeros(20, dtype=dtype, requires_grad=True)
        node, found = guests.leaf_of(guests.adapter_of(torch.Tensor), variable), set()
        for seed in range(20):
            context = DistAutogradContext(0)
            for term in random.Random(seed).sample(terms, len(terms)):
                context.accumulate_guest(node, term.clone(), False)
                context.gradients[variable].clone()
            found.add(context.gradients[variable].view(torch.uint8).numpy().tobytes())
        return found

    assert len(bits()) > 1
    mpigrad.use_deterministic_algorithms(True)
    try:
        assert len(bits()) == 1
    finally:
        mpigrad.use_deterministic_algorithms(False)


def test_a_changed_gradient_does_not_change_deterministic_sums() -> None:
    mpigrad.use_deterministic_algorithms(True)
    try:
        x = leaf(3)
        with dist_autograd.context() as context_id:
            loss = remote(1, torch.mul, x, 3.0).sum()
            dist_autograd.backward(context_id, [loss], retain_graph=True)
            dist_autograd.get_gradients(context_id)[x].zero_()
            dist_autograd.backward(context_id, [loss])
            assert dist_autograd.get_gradients(context_id)[x].tolist() == [6.0] * 3
    finally:
        mpigrad.use_deterministic_algorithms(False)


def calls_back(x: Any) -> Any:
    """A graph whose backward makes a call: it must not run on a thread that polls."""

    class CallsBack(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return rpc.rpc_sync("worker2", torch.mul, args=(grad, 2))

    return CallsBack.apply(x)


def test_functions_may_call_other_workers_in_their_backward() -> None:
    x = leaf(3)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [(remote(1, calls_back, x) + remote(1, calls_back, x)).sum()])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [4.0] * 3
