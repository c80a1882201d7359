"""The table of differentiable operators: for each, a function and the inputs on which its gradients are checked."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import mpigrad
import mpigrad.linalg
import mpigrad.nn.functional as F

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """A random tensor: its shape, and the values that suit the operator."""

    shape: Shape
    kind: str = "real"
    grad: bool = True

    def make(self, random: np.random.Generator, dtype: Any) -> mpigrad.Tensor:
        array = _KINDS[self.kind](random, self.shape)
        if array.dtype.kind in "iub":
            return mpigrad.tensor(array)
        wanted = (
            dtype if array.dtype.kind == "f" else mpigrad.complex128 if dtype is mpigrad.float64 else mpigrad.complex64
        )
        return mpigrad.tensor(array, dtype=wanted, requires_grad=self.grad)


def _apart(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Values that differ by more than any step of the check: maxima and orders do not change."""
    size = int(np.prod(shape))
    return (random.permutation(size) - size / 2 + 0.25).reshape(shape) * 0.37


_KINDS: dict[str, Callable[[np.random.Generator, Shape], np.ndarray]] = {
    "real": lambda random, shape: np.asarray(random.uniform(0.25, 1.6, shape) * random.choice([-1.0, 1.0], shape)),
    "positive": lambda random, shape: np.asarray(random.uniform(0.4, 1.6, shape)),
    "unit": lambda random, shape: np.asarray(random.uniform(0.1, 0.85, shape) * random.choice([-1.0, 1.0], shape)),
    "probability": lambda random, shape: np.asarray(random.uniform(0.15, 0.85, shape)),
    "above one": lambda random, shape: np.asarray(random.uniform(1.2, 2.5, shape)),
    "apart": _apart,
    "complex": lambda random, shape: np.asarray(
        random.uniform(0.3, 1.2, shape) + 1j * random.uniform(-1.2, -0.3, shape)
    ),
    "index": lambda random, shape: np.asarray(random.integers(0, 3, shape)),
    "mask": lambda random, shape: np.asarray(random.integers(0, 2, shape, dtype=bool)),
    "spd": lambda random, shape: _spd(random, shape),  # symmetric, positive, eigenvalues apart
    "well": lambda random, shape: _well(random, shape),
    "complex well": lambda random, shape: _well(random, shape) + 1j * random.uniform(-1, 1, shape),
    "signs": lambda random, shape: np.asarray(random.choice([-1.0, 1.0], shape)),
}


def _well(random: np.random.Generator, shape: Shape) -> np.ndarray:
    return random.uniform(-1, 1, shape) + 3 * np.eye(shape[-1])


def _spd(random: np.random.Generator, shape: Shape) -> np.ndarray:
    half = random.uniform(-1, 1, shape)
    return half @ half.swapaxes(-1, -2) + np.diag(np.arange(1.0, shape[-1] + 1))


@dataclass(frozen=True)
class Case:
    """One check: a function of tensors, its inputs, and whether second derivatives exist."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Input, ...]
    second: bool = True
    single: bool = True  # whether float32 is checked too

    def make(self, dtype: Any, seed: int = 0) -> tuple[mpigrad.Tensor, ...]:
        random = np.random.default_rng([seed, *self.name.encode()])
        return tuple(each.make(random, dtype) for each in self.inputs)


def real(*shape: int) -> Input:
    return Input(shape)


def const(*shape: int, kind: str = "real") -> Input:
    return Input(shape, kind, grad=False)


def of(kind: str, *shape: int) -> Input:
    return Input(shape, kind)


UNARY_SHAPES: tuple[Shape, ...] = ((), (0, 2), (3,), (2, 1, 2))
BINARY_SHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((3,), (3,)),
    ((2, 1), (3,)),
    ((), (2, 2)),
    ((0, 2), (1, 2)),
    ((), ()),
)


def unary() -> Iterator[Case]:
    """Functions of each element."""
    table: dict[str, str] = {
        "real": "abs acosh_ angle asinh atan ceil cos cosh deg2rad digamma erf erfc exp exp2 expm1 floor frac lgamma nan_to_num "
        "neg rad2deg reciprocal relu round sgn sigmoid sign sin sinc sinh square tan tanh trunc positive fix absolute",
        "positive": "log log10 log1p log2 rsqrt sqrt digamma lgamma",
        "unit": "acos asin atanh erfinv arccos arcsin arctanh",
        "above one": "acosh arccosh",
        "probability": "logit",
    }
    for kind, names in table.items():
        for name in names.split():
            function = getattr(mpigrad, name, None)
            if name.endswith("_") or function is None:
                continue
            for shape in UNARY_SHAPES:
                yield Case(f"{name} {shape}", function, (Input(shape, kind),))
    activations = (
        "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus "
        "softshrink softsign tanhshrink relu"
    )
    for name in activations.split():
        for shape in UNARY_SHAPES:
            yield Case(f"{name} {shape}", getattr(F, name), (Input(shape),))
    yield Case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), (real(2, 3),))
    yield Case("threshold", lambda x: F.threshold(x, 0.1, 20.0), (real(2, 3),))
    yield Case("polygamma", lambda x: mpigrad.polygamma(1, x), (of("positive", 3),))
    yield Case("round to digits", lambda x: mpigrad.round(x, decimals=1), (real(3),))
    yield Case("clamp numbers", lambda x: mpigrad.clamp(x, -0.7, 0.7), (real(2, 3),))
    yield Case(
        "clamp tensors", lambda x, a, b: mpigrad.clamp(x * 3, a - 1, b + 1), (real(4), of("unit", 4), of("unit", 4))
    )
    yield Case("clamp_max number", lambda x: mpigrad.clamp_max(x, 0.5), (real(2, 3),))
    yield Case("clamp_min number", lambda x: mpigrad.clamp_min(x, 0.5), (real(2, 3),))
    yield Case("copysign number", lambda x: mpigrad.copysign(x, -1.0), (real(2, 3),))
    yield Case("clamp_min", lambda x, a: mpigrad.clamp_min(x, a), (of("apart", 2, 2), of("unit", 2)))
    yield Case("clamp_max", lambda x, a: mpigrad.clamp_max(x, a), (of("apart", 2, 2), of("unit", 2)))


def binary() -> Iterator[Case]:
    """Functions of two broadcast operands."""
    table = {
        "real": "add sub mul div atan2 hypot logaddexp logaddexp2 rsub fmod remainder copysign true_divide",
        "apart": "maximum minimum fmax fmin",
        "positive": "pow xlogy float_power",
    }
    for kind, names in table.items():
        for name in names.split():
            for a, b in BINARY_SHAPES:
                if name in ("fmod", "remainder"):  # steps where the quotient passes a whole number
                    inputs = (Input(a, "unit"), Input(b, "above one"))
                elif kind == "apart":
                    inputs = (Input(a, "apart"), Input(b, "unit"))
                else:
                    inputs = (Input(a, kind), Input(b, kind))
                yield Case(f"{name} {a} {b}", getattr(mpigrad, name), inputs)
    numbers: dict[str, Callable[[Any], Any]] = {
        "add": lambda x: x + 2.5,
        "radd": lambda x: 2.5 + x,
        "sub": lambda x: x - 2,
        "rsub": lambda x: 2 - x,
        "mul": lambda x: x * 3,
        "div": lambda x: x / 3,
        "rdiv": lambda x: 3 / x,
        "pow": lambda x: x**3,
        "pow 0": lambda x: x**0,
        "pow 2": lambda x: x**2,
        "pow 0.5": lambda x: x.abs() ** 0.5,
        "rpow": lambda x: 2.0**x,
        "neg": lambda x: -x,
        "add alpha": lambda x: mpigrad.add(x, x * x, alpha=3),
        "sub alpha": lambda x: mpigrad.sub(x, x * x, alpha=3),
        "rsub alpha": lambda x: mpigrad.rsub(x, 2.0, alpha=3),
        "fmod": lambda x: mpigrad.fmod(x, 2.7),
        "remainder": lambda x: mpigrad.remainder(x.abs(), 2.7),
        "div floor": lambda x: mpigrad.div(x, 5.0, rounding_mode="floor"),
        "div trunc": lambda x: mpigrad.div(x, 5.0, rounding_mode="trunc"),
        "xlogy of a number": lambda x: mpigrad.xlogy(2.0, x.abs()),
        "xlogy by a number": lambda x: mpigrad.xlogy(x, 2.0),
        "ldexp": lambda x: mpigrad.ldexp(x, mpigrad.tensor(2)),
        "heaviside": lambda x: mpigrad.heaviside(x, mpigrad.ones_like(x)),
    }
    for name, function in numbers.items():
        for shape in ((2, 2), (), (0,)):
            yield Case(f"with a number: {name} {shape}", function, (Input(shape),))
    yield Case("lerp tensor", mpigrad.lerp, (real(2, 3), real(3), real(2, 1)))
    yield Case("lerp number", lambda a, b: mpigrad.lerp(a, b, 0.3), (real(2, 3), real(3)))
    yield Case("addcmul", lambda a, b, c: mpigrad.addcmul(a, b, c, value=0.5), (real(2, 3), real(3), real(2, 1)))
    yield Case("addcdiv", lambda a, b, c: mpigrad.addcdiv(a, b, c, value=0.5), (real(2, 3), real(3), real(2, 1)))
    yield Case("where", mpigrad.where, (const(2, 3, kind="mask"), real(3), real(2, 1)))
    yield Case("complex", mpigrad.complex, (real(3), real(3)))
    yield Case("polar", mpigrad.polar, (of("positive", 3), real(3)))


def reductions() -> Iterator[Case]:
    """Functions that make dimensions fewer, or run along one."""
    some: dict[str, Callable[..., Any]] = {
        name: getattr(mpigrad, name)
        for name in ("sum", "mean", "prod", "var", "std", "logsumexp", "amax", "amin", "nansum", "norm", "nanmean")
    }
    for name, function in some.items():
        for shape in ((3,), (2, 3), (2, 1, 3)):
            for keepdim in (False, True):
                yield Case(
                    f"{name} {shape} dim keepdim={keepdim}",
                    lambda x, function=function, keepdim=keepdim: function(x, dim=-1, keepdim=keepdim),
                    (of("apart", *shape),),
                )
        if name not in ("prod",):
            yield Case(
                f"{name} two dims", lambda x, function=function: function(x, dim=(0, 2)), (of("apart", 2, 2, 3),)
            )
    for name in (
        "sum",
        "mean",
        "prod",
        "var",
        "std",
        "amax",
        "amin",
        "max",
        "min",
        "nansum",
        "norm",
        "median",
        "nanmedian",
    ):
        for shape in ((3,), (2, 3), (4, 1)):
            yield Case(f"{name} {shape} all", getattr(mpigrad, name), (of("apart", *shape),))
    for name in ("sum", "mean", "prod", "norm", "max", "min"):
        yield Case(f"{name} of one number", getattr(mpigrad, name), (real(),))
    for name in ("sum", "prod", "norm"):
        yield Case(f"{name} of nothing", getattr(mpigrad, name), (real(0, 3),))
    yield Case("sum of nothing along a dim", lambda x: x.sum(0), (real(0, 3),))
    yield Case("var unbiased=False", lambda x: mpigrad.var(x, dim=1, correction=0), (real(2, 3),))
    yield Case("std correction", lambda x: mpigrad.std(x, dim=0, correction=2, keepdim=True), (real(4, 2),))
    yield Case("var_mean", lambda x: mpigrad.var_mean(x, dim=1), (real(2, 3),))
    yield Case("std_mean", lambda x: mpigrad.std_mean(x, dim=1), (real(2, 3),))
    for name in ("max", "min", "median", "nanmedian", "mode", "cummax", "cummin"):
        yield Case(f"{name} dim", lambda x, name=name: getattr(mpigrad, name)(x, dim=1)[0], (of("apart", 2, 3),))
    yield Case("aminmax", lambda x: tuple(mpigrad.aminmax(x, dim=1)), (of("apart", 2, 3),))
    yield Case("kthvalue", lambda x: mpigrad.kthvalue(x, 2, dim=1)[0], (of("apart", 2, 3),))
    yield Case("topk", lambda x: mpigrad.topk(x, 2, dim=1)[0], (of("apart", 2, 3),))
    yield Case("sort", lambda x: mpigrad.sort(x, dim=0)[0], (of("apart", 3, 2),))
    yield Case("sort stable", lambda x: mpigrad.sort(x, dim=0, stable=True, descending=True)[0], (of("apart", 3, 2),))
    yield Case("msort", mpigrad.msort, (of("apart", 3, 2),))
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        for shape in ((3,), (2, 3), (0, 2), ()):
            yield Case(f"{name} {shape}", lambda x, name=name: getattr(mpigrad, name)(x, dim=0), (Input(shape),))
    yield Case("prod with zeros", lambda x: (x * mpigrad.tensor([1.0, 0.0, 2.0], dtype=x.dtype)).prod(), (real(3),))
    for p in (0, 1, 2, 3, 1.5, float("inf"), float("-inf")):
        yield Case(f"norm {p}", lambda x, p=p: mpigrad.norm(x, p, dim=1), (of("apart", 2, 3),), second=p not in (0,))
    yield Case("dist", mpigrad.dist, (real(2, 3), real(3)))
    yield Case("trace", mpigrad.trace, (real(3, 2),))
    for name in ("softmax", "log_softmax"):
        for shape in ((3,), (2, 3), (0, 2), ()):
            yield Case(f"{name} {shape}", lambda x, name=name: getattr(mpigrad, name)(x, dim=-1), (Input(shape),))
    yield Case("softmin", lambda x: F.softmin(x, dim=0), (real(2, 3),))
    yield Case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=1), (real(2, 3), real(2, 3)))
    yield Case("normalize", lambda x: F.normalize(x, dim=1), (real(2, 3),))
    yield Case("glu", lambda x: F.glu(x, dim=1), (real(2, 4),))
    yield Case("cdist", lambda a, b: mpigrad.cdist(a, b), (real(3, 2), real(2, 2)), second=False)
    yield Case("pdist", mpigrad.pdist, (real(3, 2),), second=False)
    yield Case("pairwise_distance", F.pairwise_distance, (real(3, 2), real(3, 2)))


def products() -> Iterator[Case]:
    """Products of matrices and their like."""
    m = mpigrad
    shapes: tuple[tuple[Shape, Shape], ...] = (
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (2, 3, 1)),
        ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 2)),
    )  # fmt: skip
    for a, b in shapes:
        yield Case(f"matmul {a} {b}", m.matmul, (Input(a), Input(b)))
    yield Case("mm", m.mm, (real(2, 3), real(3, 2)))
    yield Case("bmm", m.bmm, (real(2, 2, 3), real(2, 3, 1)))
    yield Case("mv", m.mv, (real(2, 3), real(3)))
    yield Case("dot", m.dot, (real(3), real(3)))
    yield Case("vdot", m.vdot, (real(3), real(3)))
    yield Case("outer", m.outer, (real(2), real(3)))
    yield Case("inner", m.inner, (real(2, 3), real(4, 3)))
    yield Case("kron", m.kron, (real(2, 2), real(1, 2)))
    yield Case("cross", lambda a, b: m.cross(a, b, dim=1), (real(2, 3), real(2, 3)))
    yield Case("tensordot", lambda a, b: m.tensordot(a, b, dims=2), (real(2, 3, 2), real(3, 2, 2)))
    yield Case("chain_matmul", m.chain_matmul, (real(2, 3), real(3, 1), real(1, 2)))
    yield Case("addmm", lambda c, a, b: m.addmm(c, a, b, beta=0.5, alpha=2), (real(2), real(2, 3), real(3, 2)))
    yield Case("addmv", lambda c, a, b: m.addmv(c, a, b, beta=0.5, alpha=2), (real(2), real(2, 3), real(3)))
    yield Case("addr", lambda c, a, b: m.addr(c, a, b, beta=0.5, alpha=2), (real(2, 3), real(2), real(3)))
    yield Case("addbmm", lambda c, a, b: m.addbmm(c, a, b, beta=0.5), (real(2, 1), real(2, 2, 3), real(2, 3, 1)))
    yield Case("baddbmm", lambda c, a, b: m.baddbmm(c, a, b, alpha=2), (real(2, 1), real(2, 2, 3), real(2, 3, 1)))
    yield Case("linear", F.linear, (real(2, 3), real(4, 3), real(4)))
    yield Case("linear without bias", F.linear, (real(2, 2, 3), real(4, 3)))
    yield Case("bilinear", F.bilinear, (real(2, 2), real(2, 3), real(2, 2, 3), real(2)))
    for subscripts, *given in (
        ("ij,jk->ik", (2, 3), (3, 2)), ("ij->ji", (2, 3)), ("ii->", (3, 3)), ("bij,bjk", (2, 2, 3), (2, 3, 1)), ("i,j->ij", (2,), (3,)),
        ("...i,i->...", (2, 2, 3), (3,)), ("ii->i", (3, 3)), ("ij,ij->", (2, 2), (2, 2)), ("ab,bc,cd->ad", (2, 2), (2, 3), (3, 2)),
    ):  # fmt: skip
        inputs = tuple(Input(tuple(shape)) for shape in given)
        yield Case(f"einsum {subscripts}", lambda *args, subscripts=subscripts: m.einsum(subscripts, *args), inputs)
    for name, a, b in (
        ("mul", (3,), (3,)),
        ("matmul", (2, 2), (2, 2)),
        ("div", (2,), (2,)),
        ("vdot", (3,), (3,)),
        ("dot", (3,), (3,)),
    ):
        yield Case(f"complex {name}", getattr(m, name), (of("complex", *a), of("complex", *b)), second=name != "div")


def shapes() -> Iterator[Case]:
    """Functions that move elements or look at them in another way."""
    table: dict[str, Callable[[Any], Any]] = {
        "reshape": lambda x: x.reshape(3, 2), "view": lambda x: x.view(6), "flatten": lambda x: x.flatten(), "t": lambda x: x.t(),
        "transpose": lambda x: x.transpose(0, 1), "permute": lambda x: x.permute(1, 0), "unsqueeze": lambda x: x.unsqueeze(1),
        "squeeze": lambda x: x.unsqueeze(1).squeeze(1), "squeeze all": lambda x: x.unsqueeze(0).squeeze(),
        "squeeze several": lambda x: x.unsqueeze(0).unsqueeze(0).squeeze((0, 1)), "all of it": lambda x: x[...],
        "squeeze_": lambda x: _clone_then(x.unsqueeze(0), lambda z: z.squeeze_()), "to copy": lambda x: x.to(x.dtype, copy=True),
        "squeeze_ dim": lambda x: _clone_then(x.unsqueeze(0), lambda z: z.squeeze_(0)),
        "squeeze_ dims": lambda x: _clone_then(x[None, None], lambda z: z.squeeze_((0, 1))),
        "expand": lambda x: x.expand(2, 2, 3), "expand new": lambda x: x.unsqueeze(1).expand(2, 4, 3),
        "repeat": lambda x: x.repeat(2, 1, 2), "tile": lambda x: mpigrad.tile(x, (2, 2)), "flip": lambda x: x.flip(0, 1),
        "roll": lambda x: x.roll(1, 0), "roll flat": lambda x: x.roll(2), "rot90": lambda x: mpigrad.rot90(x), "fliplr": mpigrad.fliplr,
        "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "diagonal": lambda x: x.diagonal(), "diag": lambda x: mpigrad.diag(x, 1),
        "diag of a "
        "vector": lambda x: mpigrad.diag(x[0]), "diag_embed": lambda x: mpigrad.diag_embed(x), "clone": lambda x: x.clone(),
        "contiguous": lambda x: x.t().contiguous(), "narrow": lambda x: x.narrow(1, 1, 2), "select": lambda x: x.select(1, 2),
        "slice": lambda x: x[:, ::2], "slice back": lambda x: x[1:, -2:], "number": lambda x: x[1], "new dim": lambda x: x[:, None],
        "ellipsis": lambda x: x[..., 0], "mask": lambda x: x[mpigrad.tensor([True, False])], "list": lambda x: x[[1, 0, 1]],
        "two "
        "lists": lambda x: x[[0, 1], [2, 0]], "split": lambda x: x.split(2, 1), "split sizes": lambda x: x.split([1, 2], 1),
        "chunk": lambda x: x.chunk(2, 1), "unbind": lambda x: x.unbind(0), "tensor_split": lambda x: mpigrad.tensor_split(x, 2, 1),
        "movedim": lambda x: x.movedim(0, 1), "swapaxes": lambda x: x.swapaxes(0, 1), "unflatten": lambda x: x.unflatten(1, (1, 3)),
        "repeat_interleave": lambda x: mpigrad.repeat_interleave(x, 2, dim=1), "unfold": lambda x: x.unfold(1, 2, 1),
        "as_strided": lambda x: mpigrad.as_strided(x, (2, 2), (1, 2)), "broadcast_to": lambda x: mpigrad.broadcast_to(x, (2, 2, 3)),
        "stack with itself": lambda x: mpigrad.stack([x, x], 1), "double": lambda x: x.double(), "mT": lambda x: x.mT,
        "to complex": lambda x: x.to(mpigrad.complex128), "diagflat": lambda x: mpigrad.diagflat(x),
        "vsplit": lambda x: mpigrad.vsplit(x, 2), "take": lambda x: mpigrad.take(x, mpigrad.tensor([0, 4, 4])), "ravel": mpigrad.ravel,
        "masked_select": lambda x: mpigrad.masked_select(x, mpigrad.tensor([True, False, True])), "adjoint": mpigrad.adjoint,
        "atleast_3d": mpigrad.atleast_3d, "combinations": lambda x: mpigrad.combinations(x[0]), "reshape copied": lambda x: x.t().reshape(6),
        "channel_shuffle": lambda x: F.channel_shuffle(x.reshape(1, 6, 1, 1), 2),
    }  # fmt: skip
    for name, function in table.items():
        yield Case(f"shape: {name}", function, (real(2, 3),))
    joins = {
        "cat": lambda *xs: mpigrad.cat(xs, 1),
        "stack": lambda *xs: mpigrad.stack(xs[:2], -1),
        "hstack": lambda *xs: mpigrad.hstack(xs),
    }
    joins |= {
        "vstack": lambda *xs: mpigrad.vstack(xs),
        "dstack": lambda *xs: mpigrad.dstack(xs),
        "column_stack": lambda *xs: mpigrad.column_stack(xs),
    }
    joins |= {"block_diag": mpigrad.block_diag, "meshgrid": lambda a, b: mpigrad.meshgrid(a[0], b[0], indexing="ij")}
    joins |= {
        "cartesian_prod": lambda a, b: mpigrad.cartesian_prod(a[0], b[0]),
        "broadcast_tensors": lambda a, b: mpigrad.broadcast_tensors(a, b[0]),
    }
    for name, join in joins.items():
        yield Case(f"join: {name}", join, (real(2, 2), real(2, 2)))
    yield Case("cat with nothing", lambda a, b: mpigrad.cat([a, b]), (real(0, 2), real(2, 2)))
    yield Case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (real(1, 4, 1, 2),))
    yield Case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), (real(1, 1, 2, 4),))
    yield Case("real and imag", lambda z: (z.real, z.imag), (of("complex", 3),))
    yield Case("view_as_real", mpigrad.view_as_real, (of("complex", 3),))
    yield Case("view_as_complex", mpigrad.view_as_complex, (real(3, 2),))
    yield Case("angle of complex", mpigrad.angle, (of("complex", 3),), second=False)
    for name in (
        "abs",
        "sgn",
        "exp",
        "conj",
        "sqrt",
        "sum",
        "mean",
        "neg",
        "log",
        "sin",
        "cos",
        "tanh",
        "reciprocal",
        "square",
    ):
        yield Case(f"complex {name}", getattr(mpigrad, name), (of("complex", 3),), second=name != "sgn")


def indexing() -> Iterator[Case]:
    """Reading and writing by indices and masks."""
    m, i = mpigrad, mpigrad.tensor
    table: dict[str, Callable[[Any, Any], Any]] = {
        "gather": lambda x, y: m.gather(x, 1, i([[0, 0], [2, 1]])), "take_along_dim": lambda x, y: m.take_along_dim(x, i([[0], [2]]), 1),
        "index_select": lambda x, y: m.index_select(x, 1, i([2, 0, 2])), "scatter": lambda x, y: m.scatter(x, 1, i([[0, 1], [2, 0]]), y),
        "scatter value": lambda x, y: m.scatter(x, 1, i([[0, 1], [2, 0]]), 3.0),
        "scatter_add": lambda x, y: m.scatter_add(x, 1, i([[0, 0], [2, 0]]), y),
        "index_add": lambda x, y: m.index_add(x, 1, i([2, 2]), y, alpha=2), "index_copy": lambda x, y: m.index_copy(x, 1, i([2, 0]), y),
        "index_fill": lambda x, y: m.index_fill(x, 1, i([2, 0]), 5.0), "index_fill tensor": lambda x, y: m.index_fill(x, 1, i([2]), y[0, 0]),
        "index_put": lambda x, y: m.index_put(x, (i([0, 1]), i([2, 0])), y[0]),
        "index_put accumulate": lambda x, y: m.index_put(x, (i([0, 0]), i([2, 2])), y[0], accumulate=True),
        "put": lambda x, y: m.put(x, i([0, 5]), y[0]), "masked_fill": lambda x, y: m.masked_fill(x, i([True, False, True]), 3.0),
        "masked_fill tensor": lambda x, y: m.masked_fill(x, i([True, False, True]), y[0, 0]),
        "masked_scatter": lambda x, y: m.masked_scatter(x, i([[True, False, True], [False, False, True]]), y),
        "select_scatter": lambda x, y: m.select_scatter(x, y[0], 1, 1), "slice_scatter": lambda x, y: m.slice_scatter(x, y, 1, 0, 2),
        "diagonal_scatter": lambda x, y: m.diagonal_scatter(x, y[0]), "setitem slice": lambda x, y: _assigned(x, (slice(None), slice(1, 3)), y),
        "setitem "
        "number": lambda x, y: _assigned(x, 1, 2.0), "setitem row": lambda x, y: _assigned(x, (0, slice(0, 2)), y[1]),
        "setitem "
        "list": lambda x, y: _assigned(x, ([0, 1], [1, 2]), y[0]), "setitem mask": lambda x, y: _assigned(x, i([[True, False, True]] * 2), y[0, 0]),
        "in-place "
        "chain": lambda x, y: _in_place(x, y), "fill_ number": lambda x, y: _clone_then(x, lambda z: z[0].fill_(2.0)), "fill_": lambda x, y: _clone_then(x, lambda z: z[0].fill_(y[0, 0])),
        "copy_": lambda x, y: _clone_then(x, lambda z: z[:, :2].copy_(y)), "zero_": lambda x, y: _clone_then(x, lambda z: z[:1].zero_()),
        "t_": lambda x, y: _clone_then(x, lambda z: z.t_()), "unsqueeze_": lambda x, y: _clone_then(x, lambda z: z.unsqueeze_(0)),
        "view in "
        "place": lambda x, y: _clone_then(x, lambda z: z.t().reshape(-1)), "transpose_": lambda x, y: _clone_then(x, lambda z: z.transpose_(0, 1)),
    }  # fmt: skip
    for name, function in table.items():
        yield Case(f"index: {name}", function, (real(2, 3), real(2, 2)))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        yield Case(
            f"scatter_reduce {how}",
            lambda x, y, how=how: m.scatter_reduce(x, 1, i([[0, 0], [2, 0]]), y, how),
            (of("apart", 2, 3), of("unit", 2, 2)),
        )
    yield Case("embedding", lambda w: F.embedding(i([[0, 2], [1, 2]]), w), (real(3, 2),))
    yield Case("embedding with padding", lambda w: F.embedding(i([0, 1]), w, padding_idx=2), (real(3, 2),))
    yield Case(
        "embedding_bag", lambda w: F.embedding_bag(i([0, 2, 1]), w, i([0, 1]), mode="sum"), (real(3, 2),)
    )
    yield Case(
        "embedding_bag max", lambda w: F.embedding_bag(i([0, 2, 1]), w, i([0, 1]), mode="max"), (real(3, 2),)
    )


def _clone_then(x: Any, change: Callable[[Any], Any]) -> Any:
    made = x.clone()
    change(made)
    return made * made


def _assigned(x: Any, key: Any, value: Any) -> Any:
    made = x * 1
    made[key] = value
    return made * made


def _in_place(x: Any, y: Any) -> Any:
    made = x.clone()
    made[:, 1:].mul_(y).add_(1)
    made.t()[0] *= 3
    made.sigmoid_()
    return made


def networks() -> Iterator[Case]:
    """Layers and losses."""
    i = mpigrad.tensor
    table: dict[str, tuple[Callable[..., Any], tuple[Input, ...]]] = {
        "conv1d": (lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), (real(1, 2, 4), real(2, 2, 3), real(2))),
        "conv2d": (lambda x, w, b: F.conv2d(x, w, b), (real(1, 2, 3, 3), real(2, 2, 2, 2), real(2))),
        "conv2d all": (
            lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2, groups=2),
            (real(1, 2, 4, 4), real(2, 1, 2, 2)),
        ),
        "conv3d": (F.conv3d, (real(1, 1, 2, 2, 2), real(1, 1, 2, 1, 2))),
        "conv_transpose1d": (
            lambda x, w: F.conv_transpose1d(x, w, stride=2, output_padding=1),
            (real(1, 2, 2), real(2, 1, 2)),
        ),
        "conv_transpose2d": (
            lambda x, w, b: F.conv_transpose2d(x, w, b, padding=1),
            (real(1, 1, 2, 2), real(1, 2, 3, 3), real(2)),
        ),
        "max_pool1d": (lambda x: F.max_pool1d(x, 2), (of("apart", 1, 2, 4),)),
        "max_pool2d": (lambda x: F.max_pool2d(x, 2, stride=1, padding=1), (of("apart", 1, 1, 3, 3),)),
        "max_pool3d": (lambda x: F.max_pool3d(x, 2), (of("apart", 1, 1, 2, 2, 4),)),
        "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), (real(1, 2, 4),)),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, stride=1, padding=1, count_include_pad=False), (real(1, 1, 3, 3),)),
        "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (real(1, 1, 2, 2, 2),)),
        "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 2), (real(1, 1, 5),)),
        "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 1)), (real(1, 1, 3, 2),)),
        "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (1, 2, 1)), (real(1, 1, 2, 3, 2),)),
        "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), (of("apart", 1, 1, 5),)),
        "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), (of("apart", 1, 1, 3, 3),)),
        "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 1), (of("apart", 1, 1, 2, 2, 2),)),
        "lp_pool1d": (lambda x: F.lp_pool1d(x, 2, 2), (of("positive", 1, 1, 4),)),
        "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), (of("positive", 1, 1, 2, 4),)),
        "batch_norm": (
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
            (real(4, 2), real(2), real(2)),
        ),
        "batch_norm evaluating": (
            lambda x, w, b: F.batch_norm(x, mpigrad.zeros(2, dtype=x.dtype), mpigrad.ones(2, dtype=x.dtype), w, b),
            (real(3, 2, 2), real(2), real(2)),
        ),
        "layer_norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), (real(2, 3), real(3), real(3))),
        "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (real(2, 4, 2), real(4), real(4))),
        "instance_norm": (F.instance_norm, (real(1, 2, 4),)),
        "rms_norm": (lambda x, w: F.rms_norm(x, (3,), w), (real(2, 3), real(3))),
        "local_response_norm": (lambda x: F.local_response_norm(x, 2), (real(1, 3, 2),)),
        "pad": (lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), (real(2, 2),)),
        "pad negative": (lambda x: F.pad(x, (-1, 1)), (real(2, 3),)),
        "unfold": (lambda x: F.unfold(x, 2), (real(1, 1, 3, 3),)),
        "fold": (lambda x: F.fold(x, (3, 3), 2), (real(1, 4, 4),)),
        "ctc_loss": (
            lambda x: F.ctc_loss(x.log_softmax(2), i([[1, 2], [2, 2]]), i([4, 4]), i([2, 1])),
            (real(4, 2, 3),),
        ),
        "dropout off": (lambda x: F.dropout(x, 0.5, training=False), (real(2, 3),)),
        "prelu": (F.prelu, (real(2, 3, 1), real(3))),
        "rrelu": (lambda x: F.rrelu(x, 0.3, 0.3, training=False), (real(2, 3),)),
        "attention": (F.scaled_dot_product_attention, (real(2, 2, 2), real(2, 3, 2), real(2, 3, 2))),
        "cross_entropy": (lambda x: F.cross_entropy(x, i([0, 2])), (real(2, 3),)),
        "cross_entropy all": (
            lambda x: F.cross_entropy(
                x, i([0, 2, -100]), mpigrad.tensor([1.0, 2.0, 3.0], dtype=x.dtype), label_smoothing=0.1
            ),
            (real(3, 3),),
        ),
        "cross_entropy with probabilities": (lambda x, y: F.cross_entropy(x, y), (real(2, 3), of("probability", 2, 3))),
        "nll_loss": (lambda x: F.nll_loss(x, i([0, 2]), reduction="sum"), (real(2, 3),)),
        "nll_loss2d": (lambda x: F.nll_loss(x, i([[[0, 2]]])), (real(1, 3, 1, 2),)),
        "gaussian_nll_loss": (F.gaussian_nll_loss, (real(3), const(3), of("positive", 3))),
        "poisson_nll_loss": (lambda x, y: F.poisson_nll_loss(x, y), (real(3), const(3, kind="positive"))),
        "hinge_embedding_loss": (F.hinge_embedding_loss, (of("unit", 4), const(4, kind="signs"))),
        "margin_ranking_loss": (
            lambda a, b, y: F.margin_ranking_loss(a, b, y, margin=0.2),
            (of("apart", 3), of("unit", 3), const(3, kind="signs")),
        ),
        "cosine_embedding_loss": (F.cosine_embedding_loss, (real(3, 2), real(3, 2), const(3, kind="signs"))),
        "triplet_margin_loss": (F.triplet_margin_loss, (real(2, 3), real(2, 3), real(2, 3))),
        "multi_margin_loss": (lambda x: F.multi_margin_loss(x, i([0, 2])), (of("unit", 2, 3),)),
        "multilabel_margin_loss": (
            lambda x: F.multilabel_margin_loss(x, i([[0, 2, -1], [1, -1, -1]])),
            (of("unit", 2, 3),),
        ),
        "multilabel_soft_margin_loss": (F.multilabel_soft_margin_loss, (real(2, 3), const(2, 3, kind="probability"))),
        "soft_margin_loss": (F.soft_margin_loss, (real(3), const(3, kind="signs"))),
    }
    for name, (function, inputs) in table.items():
        yield Case(name, function, inputs, second=name != "ctc_loss")
    for loss in (
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "kl_div",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
    ):
        for reduction in ("mean", "sum", "none"):
            first = "probability" if loss == "binary_cross_entropy" else "apart" if loss == "l1_loss" else "real"
            yield Case(
                f"{loss} {reduction}",
                lambda x, y, loss=loss, reduction=reduction: getattr(F, loss)(x, y, reduction=reduction),
                (of(first, 2, 3), of("probability", 2, 3)),
            )
    for mode, shape in (("circular", (1, 1, 4)), ("reflect", (1, 1, 4)), ("replicate", (1, 1, 4))):
        yield Case(f"pad {mode} 1d", lambda x, mode=mode: F.pad(x, (1, 2), mode=mode), (Input(shape),))
        yield Case(f"pad {mode} 2d", lambda x, mode=mode: F.pad(x, (1, 1, 0, 1), mode=mode), (real(1, 1, 2, 3),))
        yield Case(
            f"pad {mode} 3d", lambda x, mode=mode: F.pad(x, (1, 0, 0, 1, 1, 0), mode=mode), (real(1, 1, 2, 2, 2),)
        )
    for mode, dims in (
        ("nearest", 1),
        ("nearest", 2),
        ("nearest", 3),
        ("nearest-exact", 1),
        ("nearest-exact", 2),
        ("nearest-exact", 3),
    ):
        yield Case(
            f"interpolate {mode} {dims}d",
            lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
            (Input((1, 1) + (2,) * dims),),
        )
    for mode, dims in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)):
        yield Case(
            f"interpolate {mode}",
            lambda x, mode=mode: F.interpolate(x, scale_factor=1.5, mode=mode),
            (Input((1, 1) + (2,) * dims),),
        )


def linear_algebra() -> Iterator[Case]:
    """Inverses, solutions and factorizations."""
    la = mpigrad.linalg
    square: dict[str, Callable[[Any], Any]] = {
        "inv": la.inv, "det": la.det, "slogdet": lambda a: la.slogdet(a)[1], "cholesky": la.cholesky, "qr": la.qr,
        "matrix_exp": la.matrix_exp, "eigvalsh": la.eigvalsh, "eigh": lambda a: (la.eigh(a)[0], la.eigh(a)[1].abs()), "svdvals": la.svdvals,
        "svd": lambda a: (la.svd(a)[0].abs(), la.svd(a)[1]), "pinv": la.pinv, "matrix_power": lambda a: la.matrix_power(a, 3),
        "negative "
        "power": lambda a: la.matrix_power(a, -2), "matrix_norm": la.matrix_norm, "vector_norm": la.vector_norm,
        "nuclear norm": lambda a: la.matrix_norm(a, "nuc"), "eigvals": lambda a: la.eigvals(a).real.sum(),
        "trace": lambda a: mpigrad.trace(a), "eig": lambda a: la.eig(a)[0].real.sum(),
    }  # fmt: skip
    for name, function in square.items():
        yield Case(f"linalg {name}", lambda a, function=function: function(_symmetric(a)), (of("spd", 3, 3),))
        if name not in ("trace",):
            yield Case(
                f"linalg {name} batch", lambda a, function=function: function(_symmetric(a)), (of("spd", 2, 2, 2),)
            )
    yield Case("cholesky by its old name", lambda a: mpigrad.cholesky(_symmetric(a)), (of("spd", 3, 3),))
    yield Case("linalg inv, not symmetric", la.inv, (of("well", 3, 3),))
    yield Case("linalg det, not symmetric", la.det, (of("well", 2, 3, 3),))
    yield Case("linalg det of rank 2", lambda a: la.det(a - a.mean(0)), (real(3, 3),), second=False)
    yield Case("linalg pinv of a wide one", la.pinv, (real(2, 3),))
    yield Case("linalg qr of a tall one", la.qr, (real(3, 2),))
    yield Case("linalg solve", la.solve, (of("well", 2, 3, 3), real(2, 3, 2)))
    yield Case("linalg solve a vector", la.solve, (of("well", 3, 3), real(3)))
    yield Case(
        "linalg solve_triangular", lambda a, b: la.solve_triangular(a, b, upper=True), (of("well", 3, 3), real(3, 2))
    )
    yield Case("linalg multi_dot", lambda *xs: la.multi_dot(xs), (real(2, 3), real(3, 2), real(2)))
    yield Case("linalg lstsq", lambda a, b: la.lstsq(a, b)[0], (real(4, 2), real(4, 1)))
    yield Case("linalg vecdot", la.vecdot, (real(2, 3), real(2, 3)))
    yield Case("linalg complex inv", la.inv, (of("complex well", 2, 2),))
    yield Case("linalg complex solve", la.solve, (of("complex well", 2, 2), of("complex", 2)))
    yield Case("linalg complex det", la.det, (of("complex well", 2, 2),))


def _symmetric(a: Any) -> Any:
    return (a + a.mT) / 2


def all_cases() -> list[Case]:
    families = (unary, binary, reductions, products, shapes, indexing, networks, linear_algebra)
    return [case for family in families for case in family()]
