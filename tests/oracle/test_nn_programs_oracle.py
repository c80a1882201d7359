"""Small programs with modules, run with PyTorch and with mpigrad: hooks, packed sequences, containers, tools."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # tiny problems: threads would only wait for each other

PROGRAMS: list[Callable[[Any], Any]] = []


def program(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(fn)
    return fn


def numbers(T: Any, *shape: int, seed: int = 0) -> Any:
    return T.tensor(np.random.default_rng(seed).standard_normal(shape))


def filled(T: Any, module: Any) -> Any:
    """The module with the same weights in both libraries."""
    module = module.to(T.float64)
    with T.no_grad():
        for seed, parameter in enumerate(module.parameters()):
            parameter.copy_(numbers(T, *parameter.shape, seed=seed) * 0.5)
    return module


def plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return ("tensor", str(value.dtype).partition(".")[2], value.detach().numpy())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, bool, type(None))) else str(value).replace("torch", "mpigrad")


def check(got: Any, want: Any, where: str) -> None:
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for place, (a, b) in enumerate(zip(got, want)):
            check(a, b, f"{where}[{place}]")
    elif isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            check(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, np.ndarray):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10, err_msg=where)
    else:
        assert got == want, where


@program
def backward_hooks(T: Any) -> Any:
    seen: list[Any] = []
    m = filled(T, T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 2)))
    m[0].register_full_backward_hook(lambda module, gi, go: seen.append(("first", gi, go)))
    m[2].register_full_backward_hook(lambda module, gi, go: (gi[0] * 2,))
    m[1].register_full_backward_pre_hook(lambda module, go: (go[0] * 3,))
    x = numbers(T, 5, 3)
    m(x).sum().backward()
    y = numbers(T, 5, 3).requires_grad_()
    m(y).sum().backward()
    return seen, y.grad, [p.grad for p in m.parameters()]


@program
def forward_hooks(T: Any) -> Any:
    seen: list[Any] = []
    m = filled(T, T.nn.Linear(3, 4))
    m.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    m.register_forward_pre_hook(lambda module, args, kwargs: seen.append((len(args), list(kwargs))), with_kwargs=True)
    handle = m.register_forward_hook(lambda module, args, out: out * 2)
    m.register_forward_hook(lambda module, args, out: seen.append("later"))
    m.register_forward_hook(lambda module, args, out: seen.append("before"), prepend=True)
    first = m(numbers(T, 2, 3))
    handle.remove()
    return first, m(numbers(T, 2, 3)), seen


@program
def hooks_that_always_run(T: Any) -> Any:
    seen: list[Any] = []
    m = T.nn.Linear(3, 4)
    m.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    try:
        m(T.zeros(2, 5))
    except RuntimeError:
        seen.append("error")
    return seen


@program
def state_hooks(T: Any) -> Any:
    seen: list[Any] = []
    m = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.BatchNorm1d(2))
    m.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(("pre", prefix, keep)))
    m.register_state_dict_post_hook(
        lambda module, state, prefix, meta: seen.append(("post", list(state), prefix, meta))
    )
    m.register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: seen.append(("load", sorted(state), prefix))
    )

    def after(module: Any, keys: Any) -> None:
        seen.append(("after", list(keys.missing_keys), list(keys.unexpected_keys)))
        keys.missing_keys.clear()

    m.register_load_state_dict_post_hook(after)
    state = m.state_dict()
    del state["0.bias"]
    result = m.load_state_dict(state)
    return seen, repr(result), dict(state._metadata), repr(T.nn.Linear(1, 1).load_state_dict({}, strict=False))


@program
def packed(T: Any) -> Any:
    rnn = T.nn.utils.rnn
    x = numbers(T, 5, 4, 3).requires_grad_()
    results: list[Any] = []
    for kind, extra in ((T.nn.LSTM, {}), (T.nn.GRU, {}), (T.nn.RNN, {}), (T.nn.LSTM, {"proj_size": 2})):
        m = filled(T, kind(3, 4, 2, bidirectional=True, **extra))
        p = rnn.pack_padded_sequence(x, [3, 5, 1, 4], enforce_sorted=False)
        out, states = m(p)
        padded, lengths = rnn.pad_packed_sequence(out, padding_value=-1.0, total_length=6)
        states = states if isinstance(states, tuple) else (states,)
        grads = T.autograd.grad((padded**2).sum() + sum((s**3).sum() for s in states), [x, *m.parameters()])
        results.append([p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices, padded, lengths, states, grads])
    return results


@program
def sequences(T: Any) -> Any:
    rnn = T.nn.utils.rnn
    items = [T.arange(n, dtype=T.float64) + 1 for n in (2, 4, 1)]
    p = rnn.pack_sequence(items, enforce_sorted=False)
    padded = rnn.pad_sequence(items, batch_first=True, padding_value=9.0)
    left = rnn.pad_sequence(items, padding_side="left")
    return (
        list(p),
        rnn.unpack_sequence(p),
        padded,
        left,
        rnn.unpad_sequence(padded, T.tensor([2, 4, 1]), batch_first=True),
    )


@program
def gradients_of_gradients(T: Any) -> Any:
    results = []
    for kind in (T.nn.LSTM, T.nn.GRU, T.nn.RNN):
        m = filled(T, kind(3, 4, bidirectional=True))
        x = numbers(T, 4, 2, 3).requires_grad_()
        if T is torch:
            with T.backends.mkldnn.flags(enabled=False):
                out, _ = m(x)
        else:
            out, _ = m(x)
        (first,) = T.autograd.grad((out**2).sum(), x, create_graph=True)
        results.append((first, T.autograd.grad((first**2).sum(), [x, *m.parameters()], allow_unused=True)))
    return results


@program
def masks(T: Any) -> Any:
    m = filled(T, T.nn.MultiheadAttention(4, 2))
    x = numbers(T, 5, 3, 4)
    causal = T.nn.Transformer.generate_square_subsequent_mask(5).to(T.float64)
    hidden = T.tensor([[False] * 4 + [True]] * 3)
    per_head = T.zeros(6, 5, 5, dtype=T.bool)
    per_head[0, 0, 1] = True
    return [
        m(x, x, x, attn_mask=causal),
        m(x, x, x, key_padding_mask=hidden, average_attn_weights=False),
        m(x, x, x, attn_mask=per_head, need_weights=False)[0],
    ]


@program
def containers(T: Any) -> Any:
    nn = T.nn
    seq = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    seq.append(nn.ReLU()).insert(1, nn.GELU())
    del seq[0]
    many = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
    many.extend([nn.ReLU()])
    many[0] = nn.Tanh()
    named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 2)})
    values = nn.ParameterList([T.zeros(2), nn.Parameter(T.ones(1, 3)), 7])
    table = nn.ParameterDict({"x": T.zeros(2), "y": nn.Parameter(T.ones(3))})
    table["z"] = T.ones(2)
    popped = table.pop("x")
    modules = (seq, seq[1:], seq + seq[:1], many, many[1:], named, values, table)
    return (
        [repr(each) for each in modules],
        list(table.keys()),
        popped,
        list(many.state_dict()),
        len(values),
        list(named),
    )


@program
def walking(T: Any) -> Any:
    nn = T.nn
    shared = nn.Linear(2, 2)
    m = nn.Sequential(shared, nn.Sequential(shared, nn.BatchNorm1d(2)), nn.ReLU())
    names: list[str] = []
    m.apply(lambda each: names.append(type(each).__name__))
    return (
        [name for name, _ in m.named_parameters()],
        [name for name, _ in m.named_parameters(remove_duplicate=False)],
        [name for name, _ in m.named_parameters(prefix="p", recurse=False)],
        [name for name, _ in m.named_buffers()],
        [name for name, _ in m.named_modules()],
        [name for name, _ in m.named_children()],
        names,
        [each.training for each in m.eval().modules()],
    )


@program
def attributes(T: Any) -> Any:
    m = T.nn.Module()
    m.a = T.nn.Parameter(T.zeros(2))
    m.register_buffer("b", T.ones(2), persistent=False)
    m.c = T.nn.Buffer(T.ones(3))
    m.d = T.nn.ReLU()
    kept = sorted(m.state_dict()), [name for name, _ in m.named_buffers()]
    m.a = None
    m.d = None
    m.b = T.zeros(1)
    del m.c
    return kept, sorted(m.state_dict()), [name for name, _ in m.named_parameters()], m.b, m.a, repr(m)


@program
def copies(T: Any) -> Any:
    m = filled(T, T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3)))
    m[1].weight.requires_grad_(False)
    twin = copy.deepcopy(m)
    with T.no_grad():
        m[0].weight.zero_()
    half = copy.deepcopy(twin).float()
    return twin.state_dict(), twin[1].weight.requires_grad, half.state_dict()


@program
def extra_state(T: Any) -> Any:
    class Counter(T.nn.Module):  # type: ignore[name-defined, misc]
        count = 3

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    m, other = T.nn.Sequential(Counter()), T.nn.Sequential(Counter())
    m[0].count = 5
    other.load_state_dict(m.state_dict())
    return dict(m.state_dict()), other[0].count


@program
def clipping(T: Any) -> Any:
    results = []
    for norm in (1.0, 2.0, 3.0, float("inf")):
        m = filled(T, T.nn.Linear(3, 2))
        (m(numbers(T, 4, 3)) ** 2).sum().backward()
        total = T.nn.utils.clip_grad_norm_(m.parameters(), 0.7, norm)
        results.append((total, [p.grad for p in m.parameters()]))
    T.nn.utils.clip_grad_value_(m.parameters(), 0.01)
    vector = T.nn.utils.parameters_to_vector(m.parameters())
    T.nn.utils.vector_to_parameters(vector * 2, m.parameters())
    return results, [p.grad for p in m.parameters()], vector, list(m.parameters())


@program
def parametrized(T: Any) -> Any:
    class Symmetric(T.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

    utils = T.nn.utils
    m, x = filled(T, T.nn.Linear(3, 3)), numbers(T, 4, 3)
    utils.parametrize.register_parametrization(m, "weight", Symmetric())
    (m(x) ** 2).sum().backward()
    shown = [repr(m), list(m.state_dict()), m.weight, m.parametrizations.weight.original.grad]
    with utils.parametrize.cached():
        shown.append(m.weight is m.weight)
    utils.parametrize.remove_parametrizations(m, "weight")
    normed = utils.parametrizations.weight_norm(filled(T, T.nn.Linear(3, 2)))
    (normed(x) ** 2).sum().backward()
    spectral = utils.parametrizations.spectral_norm(filled(T, T.nn.Linear(3, 2)), n_power_iterations=40)
    return [
        shown,
        [repr(m), m.weight, utils.parametrize.is_parametrized(m)],
        [repr(normed), normed(x), {name: p.grad for name, p in normed.named_parameters()}],
        [repr(spectral), list(spectral.state_dict()), spectral(x), copy.deepcopy(spectral)(x)],
    ]


@program
def deterministic_inits(T: Any) -> Any:
    init = T.nn.init
    rows, tall = init.orthogonal_(T.zeros(3, 5)), init.orthogonal_(T.zeros(5, 3), gain=2.0)
    gains = [init.calculate_gain(each) for each in ("linear", "tanh", "relu", "selu", "sigmoid", "conv2d")]
    sparse = init.sparse_(T.zeros(10, 4), 0.35)
    return (
        [
            init.eye_(T.zeros(2, 3)),
            init.dirac_(T.zeros(4, 2, 3, 3), 2),
            init.ones_(T.zeros(2)),
            init.constant_(T.zeros(2), 0.3),
        ],
        gains,
        [
            int(((rows @ rows.T - T.eye(3)).abs() < 1e-5).sum()),
            int(((tall.T @ tall - 4 * T.eye(3)).abs() < 1e-5).sum()),
        ],
        (sparse == 0).sum(0),
    )


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_same_as_pytorch(fn: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(plain(fn(mpigrad)), plain(fn(torch)), fn.__name__)
