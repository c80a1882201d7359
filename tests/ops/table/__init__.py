"""The table of differentiable operators, by family: for each, a function and inputs on which its gradients are checked."""

from __future__ import annotations

from tests.ops.table.binary import binary
from tests.ops.table.case import Case
from tests.ops.table.indexing import indexing
from tests.ops.table.linear_algebra import linear_algebra
from tests.ops.table.networks import networks
from tests.ops.table.products import products
from tests.ops.table.reductions import reductions
from tests.ops.table.samples import samples
from tests.ops.table.shapes import shapes
from tests.ops.table.unary import unary

__all__ = ["Case", "all_cases"]


def all_cases() -> list[Case]:
    families = (unary, binary, reductions, products, shapes, indexing, networks, linear_algebra, samples)
    return [case for family in families for case in family()]
