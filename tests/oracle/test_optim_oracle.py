"""Optimizers and schedules beside PyTorch: the same parameters after 100 steps, the same state, text and complaints."""

from __future__ import annotations

import copy
import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # tiny problems: threads would only wait for each other

OPTIMIZERS = """
SGD lr=0.1
SGD lr=0.05, momentum=0.9
SGD lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.1
SGD lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01
SGD lr=0.001, maximize=True, momentum=0.5
Adam lr=0.05
Adam lr=0.05, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1, amsgrad=True
Adam lr=0.001, maximize=True, weight_decay=0.1
Adam lr=0.05, weight_decay=0.1, decoupled_weight_decay=True
Adam lr=0.05, foreach=True, eps=1e-4
AdamW lr=0.05
AdamW lr=0.05, weight_decay=0.3, amsgrad=True
AdamW lr=0.001, betas=(0.8, 0.95), eps=1e-4, maximize=True
Adagrad lr=0.3
Adagrad lr=0.003, eps=1e-3, maximize=True
Adagrad lr=0.3, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5
RMSprop lr=0.02
RMSprop lr=0.02, alpha=0.9, momentum=0.7, centered=True, weight_decay=0.1
RMSprop lr=0.02, momentum=0.3
RMSprop lr=0.001, eps=1e-3, centered=True, maximize=True
Adadelta lr=1.0
Adadelta lr=0.5, eps=1e-3, maximize=True
Adadelta lr=0.7, rho=0.8, weight_decay=0.1
Adamax lr=0.05
Adamax lr=0.002, betas=(0.7, 0.9), eps=1e-3, maximize=True
Adamax lr=0.05, weight_decay=0.1
NAdam lr=0.05
NAdam lr=0.05, weight_decay=0.1, decoupled_weight_decay=True
NAdam lr=0.001, betas=(0.8, 0.95), eps=1e-4, maximize=True
NAdam lr=0.05, weight_decay=0.1, momentum_decay=0.01
RAdam lr=0.05
RAdam lr=0.05, weight_decay=0.1, betas=(0.9, 0.9)
RAdam lr=0.001, betas=(0.8, 0.95), eps=1e-4, maximize=True
RAdam lr=0.05, weight_decay=0.1, decoupled_weight_decay=True
ASGD lr=0.05
ASGD lr=0.001, alpha=0.5, maximize=True
ASGD lr=0.05, t0=10, lambd=0.01, weight_decay=0.1
Rprop lr=0.01
Rprop lr=0.001, maximize=True
Rprop lr=0.05, etas=(0.4, 1.3), step_sizes=(1e-4, 0.2)
LBFGS lr=0.5, max_iter=3
LBFGS lr=0.3, max_iter=4, max_eval=3, tolerance_grad=1e-3, tolerance_change=1e-4
LBFGS lr=1, max_iter=5, history_size=4, line_search_fn="strong_wolfe"
""".strip().splitlines()


class Problem:
    """A regression with some bends, the same in both libraries."""

    def __init__(self, T: Any, spec: str) -> None:
        self.T = T
        random = np.random.default_rng(0)
        data = lambda *shape: T.tensor(random.standard_normal(shape))
        self.x, self.y = data(20, 4), data(20, 2)
        self.w, self.b, self.idle = (data(*shape).requires_grad_() for shape in ((4, 2), (2,), (3,)))
        self.make(spec)

    def make(self, spec: str) -> None:
        name, _, arguments = spec.partition(" ")
        one = [self.w, self.b, self.idle]
        groups = one if name == "LBFGS" else [{"params": one[:1]}, {"params": one[1:], "lr": 0.03}]
        self.optimizer = eval(f"optim.{name}(groups, {arguments})", {"optim": self.T.optim, "groups": groups})

    def loss(self) -> Any:
        self.optimizer.zero_grad()
        out = ((self.x @ self.w + self.b).tanh() - self.y).pow(2).mean() + 0.01 * self.w.pow(4).sum()
        out.backward()
        return out

    def run(self, steps: int) -> list[Any]:
        return [self.optimizer.step(self.loss).item() for _ in range(steps)]

    def parameters(self) -> list[np.ndarray]:
        return [each.detach().numpy().copy() for each in (self.w, self.b, self.idle)]


def plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach().numpy()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def check(got: Any, want: Any, where: str) -> None:
    if isinstance(want, dict):
        assert sorted(map(str, got)) == sorted(map(str, want)), where
        for key in want:
            check(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for place, (a, b) in enumerate(zip(got, want)):
            check(a, b, f"{where}[{place}]")
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape, where
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8, err_msg=where)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-7, abs=1e-12), where
    else:
        assert got == want, where


@pytest.mark.parametrize("spec", OPTIMIZERS)
def test_same_trajectory(spec: str) -> None:
    theirs, ours = Problem(torch, spec), Problem(mpigrad, spec)
    if not spec.startswith("LBFGS"):
        assert repr(ours.optimizer) == repr(theirs.optimizer)
    check(ours.run(100), theirs.run(100), spec)
    check(ours.parameters(), theirs.parameters(), spec)
    if not spec.startswith("LBFGS"):
        check(plain(ours.optimizer.state_dict()), plain(theirs.optimizer.state_dict()), spec)


@pytest.mark.parametrize("spec", OPTIMIZERS)
def test_goes_on_from_a_saved_state(spec: str) -> None:
    first = Problem(mpigrad, spec)
    first.run(5)
    second = Problem(mpigrad, spec)
    for mine, theirs in zip((second.w, second.b, second.idle), (first.w, first.b, first.idle)):
        with mpigrad.no_grad():
            mine.copy_(theirs)
    second.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
    check(second.run(5), first.run(5), spec)


SPARSE = """
SGD lr=0.1
SGD lr=0.1, maximize=True
SGD lr=0.1, momentum=0.9
SGD lr=0.1, momentum=0.9, nesterov=True
Adagrad lr=0.003, eps=1e-3, maximize=True
Adagrad lr=0.3, lr_decay=0.1
SparseAdam lr=0.05
SparseAdam lr=0.05, betas=(0.8, 0.95), eps=1e-4, maximize=True
""".strip().splitlines()


def sparse_run(T: Any, spec: str) -> list[Any]:
    random = np.random.default_rng(0)
    table = T.nn.Embedding.from_pretrained(T.tensor(random.standard_normal((12, 3))), freeze=False, sparse=True)
    name, _, arguments = spec.partition(" ")
    optimizer = eval(f"optim.{name}(table.parameters(), {arguments})", {"optim": T.optim, "table": table})
    for _ in range(100):
        optimizer.zero_grad()
        (table(T.tensor(random.integers(0, 11, 6))) ** 2).sum().backward()
        optimizer.step()
    state = {key: value for key, value in optimizer.state[table.weight].items() if key != "momentum_buffer"}
    return [table.weight, {**state, "step": int(state.get("step", 0))}]


@pytest.mark.parametrize("spec", SPARSE)
def test_same_trajectory_with_sparse_gradients(spec: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(plain(sparse_run(mpigrad, spec)), plain(sparse_run(torch, spec)), spec)


SCHEDULES = """
L.StepLR(o, 3, gamma=0.5)
L.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5)
L.ExponentialLR(o, 0.9)
L.ConstantLR(o, 0.3, 4)
L.LinearLR(o, 0.2, 0.9, 6)
L.PolynomialLR(o, 8, 2.0)
L.CosineAnnealingLR(o, 5, 0.01)
L.CosineAnnealingWarmRestarts(o, 3, 2, 0.01)
L.OneCycleLR(o, 0.5, total_steps=20)
L.OneCycleLR(o, [0.5, 0.2], epochs=5, steps_per_epoch=4, anneal_strategy="linear", three_phase=True, pct_start=0.2)
L.OneCycleLR(o, 0.5, total_steps=20, cycle_momentum=False)
L.LambdaLR(o, lambda step: 0.95**step)
L.LambdaLR(o, [lambda step: 1 / (step + 1), lambda step: step])
L.MultiplicativeLR(o, lambda step: 0.9 + 0.01 * step)
L.CyclicLR(o, 0.01, 0.3, 3, 4)
L.CyclicLR(o, 0.01, 0.3, 3, mode="triangular2")
L.CyclicLR(o, 0.01, 0.3, 3, mode="exp_range", gamma=0.9, cycle_momentum=False)
L.CyclicLR(o, 0.01, 0.3, 3, scale_fn=lambda x: 1 / x)
L.SequentialLR(o, [L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9)], [4])
L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=3), L.StepLR(o, 2), L.CosineAnnealingLR(o, 5)], [4, 9])
L.ChainedScheduler([L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9), L.CosineAnnealingLR(o, 7)])
""".strip().splitlines()


def schedule(T: Any, text: str, kind: str) -> list[Any]:
    params = [T.zeros(2, requires_grad=True), T.ones(1, requires_grad=True)]
    extra = {"momentum": 0.9} if kind == "SGD" else {}
    o = getattr(T.optim, kind)([{"params": params[:1]}, {"params": params[1:], "lr": 0.4}], lr=0.2, **extra)
    scheduler = eval(text, {"L": T.optim.lr_scheduler, "o": o})
    seen = []
    for _ in range(19):
        momenta = [group.get("momentum", group.get("betas")) for group in o.param_groups]
        seen.append([[group["lr"] for group in o.param_groups], scheduler.get_last_lr(), momenta])
        o.step()
        scheduler.step()
    saved = scheduler.state_dict()
    again = eval(text, {"L": T.optim.lr_scheduler, "o": o})
    again.load_state_dict(saved)
    return [*seen, again.last_epoch if hasattr(again, "last_epoch") else None, again.get_last_lr()]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("text", SCHEDULES)
def test_same_schedule(text: str, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(plain(schedule(mpigrad, text, kind)), plain(schedule(torch, text, kind)), text)


@pytest.mark.parametrize(
    "arguments", ["", "mode='max', patience=1", "patience=0, cooldown=2, threshold=0.5, threshold_mode='abs'"]
)
def test_same_plateau(arguments: str) -> None:
    def run(T: Any) -> list[Any]:
        o = T.optim.SGD([T.zeros(1, requires_grad=True)], lr=1.0)
        s = eval(f"L.ReduceLROnPlateau(o, {arguments})", {"L": T.optim.lr_scheduler, "o": o})
        rates = []
        for value in np.sin(np.arange(60) / 3).tolist():
            s.step(value)
            rates.append([o.param_groups[0]["lr"], s.num_bad_epochs, s.best, s.get_last_lr()])
        return rates

    check(run(mpigrad), run(torch), arguments)


ERRORS = """
O.SGD([], lr=0.1) | O.SGD([1], lr=0.1) | O.SGD(p, lr=-1) | O.SGD(p, momentum=-1) | O.SGD(p, weight_decay=-1)
O.SGD(p, nesterov=True) | O.SGD([p[0] * 2], lr=0.1) | O.SGD([{'params': p}, {'params': p}], lr=0.1)
O.SGD({'a': 1}, lr=0.1) | O.SGD([{'params': {p[0]}}], lr=0.1) | O.SGD(p, lr=0.1).add_param_group(3)
O.SGD(p, lr=0.1).load_state_dict({'state': {}, 'param_groups': []})
O.SGD(p).load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1]}]}) | O.Adam(p, lr=-1) | O.Adam(p, eps=-1)
O.Adam(p, betas=(1, 0)) | O.Adam(p, betas=(0, 2)) | O.Adam(p, weight_decay=-1) | O.Adagrad(p, lr=-1)
O.Adagrad(p, lr_decay=-1) | O.Adagrad(p, weight_decay=-1) | O.Adagrad(p, initial_accumulator_value=-1)
O.Adagrad(p, eps=-1) | O.RMSprop(p, lr=-1) | O.RMSprop(p, eps=-1) | O.RMSprop(p, momentum=-1)
O.RMSprop(p, weight_decay=-1) | O.RMSprop(p, alpha=-1) | O.Adadelta(p, lr=-1) | O.Adadelta(p, rho=-1)
O.Adadelta(p, eps=-1) | O.Adadelta(p, weight_decay=-1) | O.Adamax(p, lr=-1) | O.Adamax(p, betas=(2, 0))
O.NAdam(p, momentum_decay=-1) | O.NAdam(p, lr=-1) | O.RAdam(p, lr=-1) | O.ASGD(p, lr=-1) | O.ASGD(p, weight_decay=-1)
O.Rprop(p, lr=-1) | O.Rprop(p, etas=(2, 0)) | O.SparseAdam(p, lr=-1) | O.SparseAdam(p, eps=-1)
O.SparseAdam(p, betas=(2, 0)) | L.StepLR(1, 2) | L.LinearLR(o, start_factor=2) | L.LinearLR(o, end_factor=2)
L.ConstantLR(o, 2) | L.OneCycleLR(o, 1.0) | L.OneCycleLR(o, 1.0, total_steps=-1) | L.LambdaLR(o, [1, 2])
L.OneCycleLR(o, 1.0, total_steps=3, pct_start=2) | L.OneCycleLR(o, 1.0, total_steps=3, anneal_strategy='x')
L.CosineAnnealingWarmRestarts(o, 0) | L.CyclicLR(o, 0.1, 1, mode='x') | L.SequentialLR(o, [], [])
L.SequentialLR(o, [L.StepLR(o, 1)], [1]) | L.ChainedScheduler([]) | L.ReduceLROnPlateau(o, factor=1.0)
L.ReduceLROnPlateau(o, mode='x') | L.ReduceLROnPlateau(o, threshold_mode='x') | L.CyclicLR(O.Rprop(p), 0.1, 1.0)
L.OneCycleLR(O.Adagrad(p), 1.0, total_steps=3)
"""


@pytest.mark.parametrize("text", [part for line in ERRORS.strip().splitlines() for part in line.split(" | ")])
def test_same_complaints(text: str) -> None:
    def attempt(T: Any) -> Any:
        p, q = [T.nn.Parameter(T.zeros(2))], T.nn.Parameter(T.zeros(2))

        def loss(x: Any) -> Any:
            p[0].grad = T.ones(2)
            return x.sum()

        o = T.optim.SGD(p, lr=0.1, momentum=0.9)
        try:
            eval(text, {"O": T.optim, "L": T.optim.lr_scheduler, "p": p, "q": q, "o": o, "loss": loss})
        except Exception as error:
            return type(error).__name__, str(error).replace("torch", "mpigrad")
        return "no error"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert attempt(mpigrad) == attempt(torch)


HOW = {"self", "params", "foreach", "fused", "capturable", "differentiable"}  # how a step is computed, not what it gives


@pytest.mark.parametrize("name", sorted({line.split()[0] for line in [*OPTIMIZERS, *SPARSE]}))
def test_every_option_is_compared(name: str) -> None:
    lines = [line for line in [*OPTIMIZERS, *SPARSE] if line.split()[0] == name]
    given = {word for line in lines for word in re.findall(r"(\w+)=", line)}
    assert set(inspect.signature(getattr(torch.optim, name).__init__).parameters) - HOW <= given
    ours = inspect.signature(getattr(mpigrad.optim, name).__init__).parameters
    theirs = inspect.signature(getattr(torch.optim, name).__init__).parameters
    assert list(ours) == list(theirs)


@pytest.mark.parametrize("spec", [each for each in OPTIMIZERS if "maximize" not in each])
def test_complex_parameters_step_like_twice_as_many_real_ones(spec: str) -> None:
    name, _, arguments = spec.partition(" ")

    def trained(T: Any) -> tuple[Any, dict[str, Any]]:
        random = np.random.default_rng(1)
        w, idle = (T.tensor(random.standard_normal((3, 2)) + 1j * random.standard_normal((3, 2))).requires_grad_() for _ in "ab")
        optimizer = eval(f"T.optim.{name}([w, idle], {arguments})", {"T": T, "w": w, "idle": idle})

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((w * w - (1 + 2j)).abs() ** 2).sum() + w.real.sin().sum()
            loss.backward()
            return loss

        for _ in range(20):
            optimizer.step(closure)
        state = optimizer.state_dict()["state"].get(0, {})
        return w.detach().numpy(), {key: value.numpy() for key, value in state.items() if isinstance(value, T.Tensor)}

    (expected, state), (found, ours) = trained(torch), trained(mpigrad)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert ours.keys() <= state.keys()
    for key, value in ours.items():
        assert value.dtype == state[key].dtype and value.shape == state[key].shape, key
        np.testing.assert_allclose(value, state[key], rtol=1e-7, atol=1e-11, err_msg=key)


def test_hooks_of_steps_see_what_pytorchs_see() -> None:
    def seen(T: Any) -> list[Any]:
        w = T.tensor([1.0], requires_grad=True)
        optimizer, found = T.optim.SGD([w], lr=0.5), []
        optimizer.register_step_pre_hook(lambda o, args, kwargs: found.append((args[0] is o, len(args), dict(kwargs))))
        optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o,), {"closure": lambda: 7}))
        optimizer.register_step_post_hook(lambda o, args, kwargs: found.append((len(args), list(kwargs))))
        w.grad = T.ones(1)
        return [optimizer.step(lambda: 3), optimizer.step(), *found, w.item()]

    assert seen(mpigrad) == seen(torch)
