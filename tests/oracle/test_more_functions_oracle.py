"""Functions beyond the everyday ones beside PyTorch's: values, gradients, node names and errors, one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # its threads would wait for each other on a busy machine
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _data(lib: Any, *shape: int, low: float = 0.1, high: float = 0.9, seed: int = 0, kind: Any = None) -> Any:
    values = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    return lib.tensor(values, dtype=kind or lib.float64).requires_grad_()


def _complex(lib: Any, *shape: int) -> Any:
    random = np.random.default_rng(shape)
    return lib.tensor(random.normal(size=shape) + 1j * random.normal(size=shape)).requires_grad_()


V: Callable[[Any], Any] = lambda lib: _data(lib, 5)
M: Callable[[Any], Any] = lambda lib: _data(lib, 3, 4, low=-1)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "cov": lambda lib: lib.cov(M(lib)),
    "cov of a vector": lambda lib: V(lib).cov(),
    "cov, no correction": lambda lib: lib.cov(M(lib), correction=0),
    "cov with counts": lambda lib: lib.cov(M(lib), fweights=lib.tensor([1, 2, 1, 3])),
    "cov with weights": lambda lib: lib.cov(M(lib), aweights=lib.tensor([0.1, 0.5, 0.2, 0.3], dtype=lib.float64)),
    "cov with both": lambda lib: lib.cov(
        M(lib), fweights=lib.tensor([1, 2, 1, 3]), aweights=lib.tensor([0.1, 0.5, 0.2, 0.3], dtype=lib.float64)
    ),
    "cov, complex": lambda lib: lib.cov(_complex(lib, 2, 4)),
    "corrcoef": lambda lib: lib.corrcoef(M(lib)),
    "corrcoef of a vector": lambda lib: V(lib).corrcoef(),
    "trapezoid": lambda lib: lib.trapezoid(M(lib)),
    "trapezoid, dx and dim": lambda lib: lib.trapz(M(lib), dx=0.5, dim=0),
    "trapezoid over places": lambda lib: lib.trapezoid(M(lib), _data(lib, 4).cumsum(0)),
    "cumulative_trapezoid": lambda lib: lib.cumulative_trapezoid(M(lib), dim=0),
    "cumulative_trapezoid over places": lambda lib: lib.cumulative_trapezoid(M(lib), _data(lib, 3, 4)),
    "gradient": lambda lib: list(lib.gradient(M(lib))),
    "gradient, spacing": lambda lib: list(lib.gradient(M(lib), spacing=0.5, dim=1, edge_order=2)),
    "gradient, places": lambda lib: list(lib.gradient(V(lib), spacing=(_data(lib, 5, seed=1).detach().cumsum(0),))),
    "gradient, places and edges": lambda lib: list(
        lib.gradient(V(lib), spacing=(_data(lib, 5, seed=1).detach().cumsum(0),), edge_order=2)
    ),
    "nanquantile": lambda lib: lib.nanquantile(
        lib.where(lib.eye(3, 4, dtype=lib.float64) > 0, float("nan"), M(lib)),
        lib.tensor([0.1, 0.6], dtype=lib.float64), dim=1, keepdim=True,
    ),
    "quantile": lambda lib: lib.quantile(M(lib), 0.3, dim=0),
    "nanquantile of all": lambda lib: M(lib).nanquantile(0.3, interpolation="nearest"),
    "renorm": lambda lib: M(lib).renorm(2, 0, 0.7),
    "vander": lambda lib: lib.vander(V(lib)).detach(),
    "vander, increasing": lambda lib: lib.vander(V(lib), 3, increasing=True).detach(),
    "frexp": lambda lib: lib.frexp(M(lib))[0],
    "frexp's exponent": lambda lib: lib.frexp(M(lib))[1],
    "i0": lambda lib: M(lib).i0(),
    "i0e": lambda lib: lib.special.i0e(M(lib)),
    "i1": lambda lib: lib.special.i1(M(lib)),
    "i1e": lambda lib: lib.special.i1e(M(lib) * 50),
    "igamma": lambda lib: V(lib).detach().igamma(_data(lib, 5, seed=1)),
    "igammac": lambda lib: lib.igammac(V(lib).detach() * 9, _data(lib, 5, seed=1)),
    "mvlgamma": lambda lib: (V(lib) + 2).mvlgamma(3),
    "entr": lambda lib: lib.special.entr(V(lib)),
    "erfcx": lambda lib: lib.special.erfcx(M(lib)),
    "ndtr": lambda lib: lib.special.ndtr(M(lib)),
    "ndtri": lambda lib: lib.special.ndtri(V(lib)),
    "log_ndtr": lambda lib: lib.special.log_ndtr(M(lib) * 9),
    "xlog1py": lambda lib: lib.special.xlog1py(M(lib), _data(lib, 4)),
    "zeta": lambda lib: lib.special.zeta(V(lib).detach() + 1.5, _data(lib, 5, seed=1)),
    "logit": lambda lib: lib.special.logit(V(lib)),
    "narrow_copy": lambda lib: M(lib).narrow_copy(1, 1, 2),
    "index_reduce prod": lambda lib: M(lib).index_reduce(0, lib.tensor([0, 2]), _data(lib, 2, 4), "prod"),
    "index_reduce mean": lambda lib: lib.index_reduce(
        M(lib), 1, lib.tensor([0, 2]), _data(lib, 3, 2), "mean", include_self=False
    ),
    "index_reduce amax": lambda lib: lib.index_reduce(M(lib), 1, lib.tensor([3, 2]), _data(lib, 3, 2), "amax"),
    "lu_factor": lambda lib: list(lib.linalg.lu_factor(_data(lib, 2, 3, 3))),
    "lu_factor, wide": lambda lib: list(lib.linalg.lu_factor(_data(lib, 2, 4))),
    "lu_factor, tall": lambda lib: list(lib.linalg.lu_factor_ex(_data(lib, 4, 2))),
    "lu": lambda lib: list(lib.linalg.lu(_data(lib, 3, 3))),
    "lu, wide": lambda lib: list(lib.linalg.lu(_data(lib, 2, 2, 4))),
    "lu, tall": lambda lib: list(lib.linalg.lu(_data(lib, 4, 3))),
    "lu_unpack": lambda lib: list(lib.lu_unpack(*lib.linalg.lu_factor(_data(lib, 3, 3)))),
    "lu_solve": lambda lib: lib.linalg.lu_solve(*lib.linalg.lu_factor(_data(lib, 3, 3)), _data(lib, 3, 2)),
    "lu_solve, right": lambda lib: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(_data(lib, 3, 3)), _data(lib, 2, 3), left=False, adjoint=True
    ),
    "lu_solve by its old name": lambda lib: _data(lib, 3, 2).lu_solve(*_data(lib, 3, 3).lu()),
    "linalg.vander": lambda lib: lib.linalg.vander(_data(lib, 2, 3)).detach(),
    "hann": lambda lib: lib.hann_window(7, dtype=lib.float64),
    "hamming": lambda lib: lib.hamming_window(7, periodic=False, dtype=lib.float64),
    "blackman": lambda lib: lib.blackman_window(6, dtype=lib.float64),
    "bartlett": lambda lib: lib.bartlett_window(6, dtype=lib.float64),
    "kaiser": lambda lib: lib.kaiser_window(6, True, 5.0, dtype=lib.float64),
    "kaiser of one": lambda lib: lib.kaiser_window(1, dtype=lib.float64),
    "unravel_index": lambda lib: list(lib.unravel_index(lib.tensor([0, 5, 7]), (2, 4))),
    "histogram": lambda lib: list(lib.histogram(M(lib).detach(), 4, range=(-1.0, 1.0))),
    "histogram, density": lambda lib: list(lib.histogram(V(lib).detach(), 3, density=True)),
    "histogram, edges": lambda lib: list(
        V(lib).detach().histogram(lib.tensor([0.0, 0.3, 1.0], dtype=lib.float64), weight=V(lib).detach())
    ),
    "nonzero_static": lambda lib: lib.nonzero_static(lib.tensor([[0, 1], [1, 1]]), size=4),
    "frombuffer": lambda lib: lib.frombuffer(bytearray(range(8)), dtype=lib.int16, count=2, offset=2),
    "apply_": lambda lib: M(lib).detach().apply_(lambda x: x * 2),
    "map_": lambda lib: M(lib).detach().map_(_data(lib, 4).detach(), lambda x, y: x - y),
    "conj_physical": lambda lib: _complex(lib, 3).conj_physical(),
    "t_copy": lambda lib: lib.t_copy(M(lib)).detach(),
    "unsafe_chunk": lambda lib: [each.detach() for each in M(lib).unsafe_chunk(2)],
}


for _mode in ("bilinear", "nearest", "bicubic"):
    for _padding in ("zeros", "border", "reflection"):
        for _align in (True, False):
            FUNCTIONS[f"grid_sample {_mode} {_padding} {_align}"] = lambda lib, how=(_mode, _padding, _align): _once(
                lib, lib.nn.functional.grid_sample(_data(lib, 2, 2, 3, 4), _data(lib, 2, 3, 2, 2, low=-1.6, high=1.6), *how)
            )
FUNCTIONS["grid_sample of volumes"] = lambda lib: _once(
    lib,
    lib.nn.functional.grid_sample(
        _data(lib, 1, 2, 2, 3, 4), _data(lib, 1, 2, 2, 2, 3, low=-1.3, high=1.3), align_corners=False
    ),
)
for _align in (True, False):
    FUNCTIONS[f"affine_grid {_align}"] = lambda lib, align=_align: lib.nn.functional.affine_grid(
        _data(lib, 2, 2, 3), (2, 1, 3, 4), align_corners=align
    )
    FUNCTIONS[f"affine_grid of volumes {_align}"] = lambda lib, align=_align: lib.nn.functional.affine_grid(
        _data(lib, 1, 3, 4), (1, 1, 2, 3, 2), align_corners=align
    )


def _once(lib: Any, value: Any) -> Any:
    """First gradients only, as PyTorch has no second ones: the first become results that need none."""
    leaves = _leaves(value.grad_fn, {})
    grads = lib.autograd.grad((value**2).sum(), sorted(leaves, key=lambda leaf: tuple(leaf.shape)))
    return [value.detach(), *grads]


def _outputs(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _flat(lib: Any, value: Any) -> Any:
    return lib.view_as_real(value.resolve_conj()) if value.is_complex() else value


def _leaves(node: Any, found: dict[int, Any]) -> list[Any]:
    stack, leaves = [node], []
    while stack:
        each = stack.pop(0)
        if each is None or id(each) in found:
            continue
        found[id(each)] = each
        if hasattr(each, "variable"):
            leaves.append(each.variable)
        stack.extend(below for below, _ in each.next_functions)
    return leaves


def _gradients(lib: Any, made: list[Any]) -> list[np.ndarray]:
    found: dict[int, Any] = {}
    wanted = [each for each in made if each.requires_grad]
    leaves = [leaf for each in wanted for leaf in _leaves(each.grad_fn, found)]
    if not wanted:
        return []
    total = sum((_flat(lib, each) ** 2).sum() for each in wanted)
    grads = lib.autograd.grad(total, leaves, create_graph=True)
    twice = sum((_flat(lib, each) ** 2).sum() for each in grads if each.requires_grad)
    second = lib.autograd.grad(twice, leaves, allow_unused=True) if isinstance(twice, lib.Tensor) else ()
    every = [*grads, *(each for each in second if each is not None)]
    return sorted((_flat(lib, each).detach().numpy() for each in every), key=lambda a: (a.shape, float(abs(a).sum())))


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_same(function: Any) -> None:
    ours, theirs = _outputs(function(mpigrad)), _outputs(function(torch))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
        expected = b.detach().resolve_conj().numpy()
        np.testing.assert_allclose(a.detach().numpy(), expected, rtol=1e-7, atol=1e-9)
        assert a.requires_grad == b.requires_grad
    for a, b in zip(_gradients(mpigrad, ours), _gradients(torch, theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


ONE_NODE = [
    "frexp", "i0", "i0e", "i1", "i1e", "igamma", "igammac", "index_reduce prod", "log_ndtr", "entr", "erfcx", "mvlgamma",
    "ndtri", "renorm", "xlog1py", "zeta", "logit", "cumulative_trapezoid",
]  # fmt: skip


@pytest.mark.parametrize("name", ONE_NODE)
def test_node_names(name: str) -> None:
    ours, theirs = (_outputs(FUNCTIONS[name](lib))[0].grad_fn.name() for lib in (mpigrad, torch))
    assert ours == theirs


ERRORS: dict[str, Callable[[Any], Any]] = {
    "cov of three dimensions": lambda lib: lib.cov(lib.ones(2, 2, 2)),
    "cov's weights": lambda lib: lib.cov(lib.ones(2, 2), fweights=lib.ones(2)),
    "cov's number of weights": lambda lib: lib.cov(lib.ones(2, 2), fweights=lib.tensor([1, 2, 3])),
    "renorm of a vector": lambda lib: lib.ones(3).renorm(2, 0, 1),
    "vander of a matrix": lambda lib: lib.vander(lib.ones(2, 2)),
    "apply_ on a leaf": lambda lib: lib.ones(2, requires_grad=True).apply_(lambda x: x),
    "quantile of integers": lambda lib: lib.nanquantile(lib.ones(2, dtype=lib.int64), 0.5),
    "q": lambda lib: lib.nanquantile(lib.ones(2), 1.5),
    "empty buffer": lambda lib: lib.frombuffer(bytearray(0), dtype=lib.float32),
    "buffer of odd length": lambda lib: lib.frombuffer(bytearray(5), dtype=lib.float32),
    "mvlgamma": lambda lib: lib.mvlgamma(lib.ones(2), 0),
    "singular": lambda lib: lib.linalg.lu_factor(lib.zeros(2, 2)),
    "lu of a vector": lambda lib: lib.linalg.lu_factor(lib.zeros(2)),
    "lu without pivots": lambda lib: lib.linalg.lu(lib.eye(2), pivot=False),
    "lu_solve, shapes": lambda lib: lib.linalg.lu_solve(*lib.linalg.lu_factor(lib.eye(3)), lib.ones(2, 1)),
    "grid of another batch": lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 3, 3), lib.zeros(2, 2, 2, 2)),
    "grid of another dimension": lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 3, 3), lib.zeros(1, 2, 2, 3)),
    "grid mode": lambda lib: lib.nn.functional.grid_sample(lib.ones(1, 1, 3, 3), lib.zeros(1, 2, 2, 2), mode="x"),
    "affine sizes": lambda lib: lib.nn.functional.affine_grid(lib.ones(1, 2, 3), (1, 1, 2)),
    "affine matrices": lambda lib: lib.nn.functional.affine_grid(lib.ones(1, 2, 2), (1, 1, 2, 2)),
    "negative rate": lambda lib: lib.poisson(-lib.ones(2)),
    "derivative of igamma": lambda lib: lib.igamma(lib.ones(2, requires_grad=True), lib.ones(2)).sum().backward(),
    "unravel_index of floats": lambda lib: lib.unravel_index(lib.ones(2), (2,)),
}


@pytest.mark.parametrize("call", ERRORS.values(), ids=ERRORS)
def test_errors(call: Any) -> None:
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises(type(theirs.value)) as ours:
        call(mpigrad)
    assert str(ours.value) == str(theirs.value).replace("torch", "mpigrad")


@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_random_counts_have_the_right_mean(name: str) -> None:
    mpigrad.manual_seed(3)
    rate = mpigrad.full((4000,), 5.0)
    made = mpigrad.poisson(rate) if name == "poisson" else mpigrad.binomial(rate * 2, rate / 10)
    assert abs(made.mean().item() - 5.0) < 0.2
    mpigrad.manual_seed(3)
    again = mpigrad.poisson(rate) if name == "poisson" else mpigrad.binomial(rate * 2, rate / 10)
    assert mpigrad.equal(made, again)


def test_memory() -> None:
    x = mpigrad.arange(6.0)
    y = x[2:].view(2, 2)
    assert x.untyped_storage() == y.untyped_storage() and y.untyped_storage().nbytes() == 24
    assert y.untyped_storage().data_ptr() == x.data_ptr() and x.is_cpu and not x.is_meta and not x.is_quantized
    assert x.is_set_to(x.view(6)) and not x.is_set_to(y)
    made = mpigrad.empty_strided((2, 3), (1, 2))
    assert made.stride() == (1, 2) and made.dim_order() == torch.empty_strided((2, 3), (1, 2)).dim_order()
