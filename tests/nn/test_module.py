"""Modules: members, state, hooks, copies, moving."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 2, bias=False)
        self.register_buffer("scratch", mpigrad.zeros(1), persistent=False)

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        return self.last(self.norm(self.first(x)).relu()) * scale


def same(a: nn.Module, b: nn.Module) -> bool:
    left, right = a.state_dict(), b.state_dict()
    return list(left) == list(right) and all(np.array_equal(left[key].numpy(), right[key].numpy()) for key in left)


def test_state_names() -> None:
    assert list(Net().state_dict()) == [
        "first.weight", "first.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
        "norm.num_batches_tracked", "last.weight",
    ]  # fmt: skip


def test_state_shares_memory_and_load_copies() -> None:
    a, b = Net(), Net()
    state = a.state_dict()
    assert not same(a, b)
    assert repr(b.load_state_dict(state)) == "<All keys matched successfully>"
    assert same(a, b)
    with mpigrad.no_grad():
        a.first.weight.zero_()
    assert not state["first.weight"].numpy().any()
    assert b.first.weight.detach().numpy().any()
    assert b.first.weight.requires_grad


def test_load_with_assign_takes_the_tensors_themselves() -> None:
    a, given = nn.Linear(2, 2), {"weight": mpigrad.ones(2, 2), "bias": mpigrad.zeros(2)}
    a.load_state_dict(given, assign=True)
    assert isinstance(a.weight, nn.Parameter)
    assert np.shares_memory(a.weight._array, given["weight"]._array)


def test_load_complains_of_everything_at_once() -> None:
    with pytest.raises(RuntimeError) as caught:
        Net().load_state_dict({"first.weight": mpigrad.zeros(1), "other": mpigrad.zeros(1)})
    said = str(caught.value)
    assert said.startswith("Error(s) in loading state_dict for Net:\n\t")
    assert 'Unexpected key(s) in state_dict: "other". ' in said
    assert 'Missing key(s) in state_dict: "first.bias", "norm.weight"' in said
    assert "size mismatch for first.weight: copying a param with shape mpigrad.Size([1])" in said


def test_a_value_for_what_a_layer_does_not_have_is_unexpected() -> None:
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "bias"'):
        nn.Linear(2, 2, bias=False).load_state_dict(nn.Linear(2, 2).state_dict())


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_whole_and_separate(clone: Any) -> None:
    a = Net()
    a.first.bias.requires_grad_(False)
    a.first.weight.note = "kept"  # type: ignore[attr-defined]
    b = clone(a)
    assert same(a, b) and type(b) is Net and isinstance(b.first.weight, nn.Parameter)
    assert [p.requires_grad for p in b.parameters()] == [p.requires_grad for p in a.parameters()]
    assert b.first.weight.note == "kept"
    assert not np.shares_memory(a.first.weight._array, b.first.weight._array)
    assert repr(b) == repr(a)
    b(mpigrad.randn(4, 3)).sum().backward()
    assert a.first.weight.grad is None and b.first.weight.grad is not None


def test_deepcopy_keeps_shared_parameters_shared() -> None:
    a = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    a[1].weight = a[0].weight
    b = copy.deepcopy(a)
    assert b[0].weight is b[1].weight
    assert len(list(b.parameters())) == 3


def test_parameters_take_the_quick_road() -> None:
    from mpigrad._ops._define.binary import PLAIN

    assert nn.Parameter in PLAIN
    w = nn.Parameter(mpigrad.ones(2))
    made = w * 2
    assert type(made) is mpigrad.Tensor and made.grad_fn is not None


def test_double_and_to_keep_the_parameters_the_same_objects() -> None:
    a = Net()
    before = list(a.parameters())
    a(mpigrad.randn(4, 3)).sum().backward()
    a.double()
    assert [id(p) for p in a.parameters()] == [id(p) for p in before]
    assert all(p.dtype is mpigrad.float64 and p.grad.dtype is mpigrad.float64 for p in a.parameters())
    assert a.norm.num_batches_tracked.dtype is mpigrad.int64
    assert a.to(mpigrad.float32).first.weight.dtype is mpigrad.float32
    assert a.to(mpigrad.zeros(1, dtype=mpigrad.float64)).first.weight.dtype is mpigrad.float64
    assert a.to("cpu", mpigrad.float32).first.weight.dtype is mpigrad.float32


def test_forward_hooks_may_change_what_goes_in_and_out() -> None:
    net, seen = nn.Linear(2, 2), []
    net.register_forward_pre_hook(lambda module, args: seen.append("pre"))
    pre = net.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] * 0,), kwargs), with_kwargs=True)
    post = net.register_forward_hook(lambda module, args, out: out + 1)
    np.testing.assert_allclose(net(mpigrad.ones(1, 2)).detach().numpy(), [net.bias.detach().numpy() + 1], rtol=1e-6)
    pre.remove(), post.remove()
    assert net(mpigrad.ones(1, 2)).detach().numpy().tolist() != [(net.bias.detach().numpy() + 1).tolist()]
    assert seen == ["pre", "pre"]
    assert not net._forward_pre_hooks_with_kwargs


def test_full_backward_hook_sees_the_gradients_of_the_whole_module() -> None:
    net, seen = Net().eval(), []
    net.register_full_backward_hook(lambda module, given, out: seen.append((given, out)))
    x = mpigrad.randn(4, 3, requires_grad=True)
    net(x).sum().backward()
    ((given,), (out,)) = seen[0]
    np.testing.assert_array_equal(given.numpy(), x.grad.numpy())
    np.testing.assert_array_equal(out.numpy(), np.ones((4, 2), "f4"))


def test_full_backward_hook_may_replace_the_gradient() -> None:
    net = nn.Linear(3, 2)
    net.register_full_backward_hook(lambda module, given, out: (given[0] * 0,))
    net.register_full_backward_pre_hook(lambda module, out: (out[0] * 2,))
    x = mpigrad.randn(4, 3, requires_grad=True)
    net(x).sum().backward()
    assert not x.grad.numpy().any()
    np.testing.assert_allclose(net.bias.grad.numpy(), [8, 8])


def test_hooks_of_all_modules() -> None:
    from mpigrad.nn.modules.module import register_module_forward_hook, register_module_full_backward_hook

    forward, backward = [], []
    handles = [
        register_module_forward_hook(lambda module, args, out: forward.append(type(module).__name__)),
        register_module_full_backward_hook(lambda module, given, out: backward.append(type(module).__name__)),
    ]
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    net(mpigrad.ones(1, 2, requires_grad=True)).sum().backward()
    for handle in handles:
        handle.remove()
    net(mpigrad.ones(1, 2))
    assert forward == ["Linear", "Tanh", "Sequential"]
    assert sorted(backward) == ["Linear", "Sequential", "Tanh"]


def test_a_hook_that_must_always_run_runs_after_an_error() -> None:
    net, seen = nn.Linear(2, 2), []
    net.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    with pytest.raises(RuntimeError):
        net(mpigrad.ones(1, 3))
    assert seen == [None]


def test_members_before_init_are_refused() -> None:
    class Hasty(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(mpigrad.zeros(1))

    with pytest.raises(AttributeError, match="before Module.__init__"):
        Hasty()


def test_non_leaf_parameter_is_refused() -> None:
    net, w = nn.Module(), nn.Parameter(mpigrad.zeros(1))
    w._grad_fn = (w * 2)._grad_fn
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'w'"):
        net.w = w


def test_zero_grad() -> None:
    net = nn.Linear(2, 2)
    net(mpigrad.ones(1, 2)).sum().backward()
    held = net.weight.grad
    net.zero_grad(set_to_none=False)
    assert net.weight.grad is held and not held.numpy().any()
    net.zero_grad()
    assert net.weight.grad is None


def test_running_statistics_and_modes() -> None:
    norm = nn.BatchNorm1d(2, momentum=None)
    for value in (1.0, 3.0):
        norm(mpigrad.full((4, 2), value))
    np.testing.assert_allclose(norm.running_mean.numpy(), [2.0, 2.0])
    assert norm.num_batches_tracked.item() == 2
    norm.eval()
    norm(mpigrad.full((4, 2), 100.0))
    assert norm.num_batches_tracked.item() == 2
    norm.reset_running_stats()
    assert norm.num_batches_tracked.item() == 0


def test_dropout_only_while_training() -> None:
    mpigrad.manual_seed(0)
    drop, x = nn.Dropout(0.5), mpigrad.ones(1000)
    kept = drop(x).numpy()
    assert set(np.unique(kept)) == {0.0, 2.0} and 350 < (kept > 0).sum() < 650
    assert drop.eval()(x).numpy().all()


def test_set_and_get_by_path() -> None:
    net = Net()
    net.set_submodule("norm", nn.Identity())
    assert isinstance(net.get_submodule("norm"), nn.Identity)
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_buffer("scratch") is net.scratch


def test_a_backward_hook_of_a_module_that_gives_a_dictionary() -> None:
    class Dictionary(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"twice": x * 2}

    module, seen = Dictionary(), []
    module.register_full_backward_hook(lambda *_: seen.append(1))
    x = mpigrad.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors but received <class 'dict'>"):
        made = module(x)
    made["twice"].sum().backward()
    assert x.grad.tolist() == [2, 2] and not seen


def test_lazy_parameters_have_no_size() -> None:
    lazy = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="Call `forward` with a dummy batch"):
        lazy.weight.numel()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        lazy.weight.shape
    lazy(mpigrad.ones(1, 2))
    assert lazy.weight.numel() == 6


def test_weights_of_recurrent_layers_in_one_list() -> None:
    layer = nn.GRU(2, 3, bidirectional=True)
    assert [weight is getattr(layer, name) for weight, name in zip(layer._flat_weights, layer._flat_weights_names)] == [True] * 8
