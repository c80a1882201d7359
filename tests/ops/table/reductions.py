"""Reductions, scans and orders."""



from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
import mpigrad.nn.functional as F
from tests.ops.table.case import Case, Input, of, real


def reductions() -> Iterator[Case]:
    """Functions that remove dimensions, or run along one (scans, sorting)."""
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
