"""Scripted modules: shared parameters, submodules, exported methods, interfaces, ScriptModule."""

# ruff: noqa: UP045, C416 (what is scripted here is the test)

from __future__ import annotations

from typing import Optional

import pytest

import mpigrad
from mpigrad import Tensor, nn
from mpigrad.testing import FileCheck, assert_close


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.lin = nn.Linear(size, size)
        self.scale = 2.0
        self.register_buffer("count", mpigrad.zeros(1))

    def helper(self, x):
        return x * self.scale

    def forward(self, x):
        self.count += 1
        return self.helper(mpigrad.relu(self.lin(x)))


class Net(nn.Module):
    bias: Optional[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(3), Block(3)])
        self.seq = nn.Sequential(Block(3), nn.ReLU())
        self.tail = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
        self.w = nn.Parameter(mpigrad.ones(3))
        self.bias = None
        self.steps = 0

    def forward(self, x, k: int = 1):
        for block in self.blocks:
            x = block(x) + x
        x = self.seq(x) * self.w
        bias = self.bias
        if bias is not None:
            x = x + bias
        if self.training:
            x = x * k
        self.steps += 1
        return self.tail(x)

    @mpigrad.jit.export
    def hidden(self, x) -> Tensor:
        return self.blocks[0].lin(x)

    @mpigrad.jit.ignore
    def only_python(self, x) -> Tensor:
        return [x for x in {x}][0]


def test_a_scripted_module_is_the_module() -> None:
    net = Net()
    scripted = mpigrad.jit.script(net)
    x = mpigrad.randn(4, 3)
    assert_close(scripted(x, k=2), net(x, 2))
    assert scripted.steps == 1 and net.steps == 1 and net.blocks[0].count.item() == 2.0
    assert_close(scripted.hidden(x), net.hidden(x))
    assert {name for name, _ in scripted.named_parameters()} == {name for name, _ in net.named_parameters()}
    scripted.eval()
    net.eval()
    assert_close(scripted(x, 5), net(x, 1))
    FileCheck().check('prim::GetAttr[name="w"]').check('prim::CallMethod[name="forward"]').run(scripted.graph)


def test_parameters_are_shared_and_trained() -> None:
    mpigrad.manual_seed(0)  # with other numbers every unit may be at rest
    net = Net()
    scripted = mpigrad.jit.script(net)
    scripted(mpigrad.randn(4, 3)).sum().backward()
    assert net.w.grad is scripted.w.grad is not None
    before = net.w.detach().clone()
    mpigrad.optim.SGD(scripted.parameters(), lr=0.1).step()
    assert not mpigrad.equal(before, net.w)


def test_script_module_and_script_method() -> None:
    class Scaled(mpigrad.jit.ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(mpigrad.full((2,), 3.0))

        @mpigrad.jit.script_method
        def forward(self, x):
            return self.w * x

    made = Scaled()
    assert made(mpigrad.ones(2)).tolist() == [3.0, 3.0]
    FileCheck().check("aten::mul").run(made.graph)
    with pytest.raises(RuntimeError, match=r"forward\(\) Expected a value of type 'Tensor \(inferred\)'"):
        made(3)


@mpigrad.jit.interface
class OneToOne:
    def forward(self, x: Tensor) -> Tensor:
        pass


class Doubles(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Pairs(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


def test_interfaces_accept_modules_that_have_their_methods() -> None:
    @mpigrad.jit.script
    def apply(module: OneToOne, x: Tensor) -> Tensor:
        return module.forward(x) + 1

    assert apply(mpigrad.jit.script(Doubles()), mpigrad.ones(1)).item() == 3.0
    with pytest.raises(RuntimeError, match="Expected a value of type '.*OneToOne' for argument 'module'"):
        apply(mpigrad.jit.script(Pairs()), mpigrad.ones(1))


def test_interfaces_as_arguments_of_methods() -> None:
    class Applies(nn.Module):
        def forward(self, module: OneToOne, x):
            return module.forward(x) + 1

    class Calls(nn.Module):
        def forward(self, module: OneToOne, x):
            return module(x)

    assert mpigrad.jit.script(Applies())(mpigrad.jit.script(Doubles()), mpigrad.ones(1)).item() == 3.0
    with pytest.raises(RuntimeError, match="object is not callable"):
        mpigrad.jit.script(Calls())


def test_methods_are_no_values() -> None:
    class Wrong(nn.Module):
        def helper(self, x):
            return x

        def forward(self, x):
            chosen = self.helper
            return x + chosen

    with pytest.raises(RuntimeError, match="method 'helper' cannot be used as a value"):
        mpigrad.jit.script(Wrong())


def test_missing_attributes_are_refused() -> None:
    class Wrong(nn.Module):
        def forward(self, x):
            return x + self.nothing

    class Python(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.thing = object()

        def forward(self, x):
            return self.thing

    with pytest.raises(RuntimeError, match="Module 'Wrong' has no attribute 'nothing'"):
        mpigrad.jit.script(Wrong())
    with pytest.raises(RuntimeError, match="failed to convert Python type: 'object'"):
        mpigrad.jit.script(Python())


class OtherwiseNamed(nn.Module):
    def __init__(this) -> None:
        super().__init__()
        this.weight = nn.Parameter(mpigrad.full((2,), 3.0))
        this.calls = 0

    def helper(me, x):
        return x * me.weight

    def forward(this, /, x):
        this.calls += 1
        return this.helper(x) + this.weight


def test_the_first_argument_of_a_method_may_have_any_name() -> None:
    module = OtherwiseNamed()
    scripted = mpigrad.jit.script(module)
    x = mpigrad.tensor([1.0, 2.0])
    assert mpigrad.equal(scripted(x), module(x))
    assert scripted.calls == 1
