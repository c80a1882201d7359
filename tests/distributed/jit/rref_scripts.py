"""Scripted functions, classes and modules that use RRefs."""

from __future__ import annotations

import io
from typing import Any

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import Tensor
from mpigrad.distributed.rpc import RRef


@mpigrad.jit.script
class Box:
    def __init__(self, a: int) -> None:
        self.a = a

    def get(self) -> int:
        return self.a


@mpigrad.jit.interface
class Gives(mpigrad.nn.Module):
    def forward(self) -> Tensor:
        pass


@mpigrad.jit.interface
class Takes:
    def forward(self, x: Tensor) -> Tensor:
        pass


class Holder(mpigrad.jit.ScriptModule):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.a = mpigrad.ones(size)
        self.weight = mpigrad.nn.Parameter(mpigrad.ones(size) * 2)

    @mpigrad.jit.script_method
    def forward(self) -> Tensor:
        return self.a

    @mpigrad.jit.script_method
    def scaled(self, by: float) -> Tensor:
        return self.weight * by


class Fetcher(mpigrad.jit.ScriptModule):
    """Has RRefs as an attribute."""

    def __init__(self, owner: str, count: int) -> None:
        super().__init__()
        self.rrefs = [rpc.remote(owner, mpigrad.add, args=(mpigrad.ones(2), n)) for n in range(count)]

    @mpigrad.jit.script_method
    def forward(self) -> Tensor:
        total = mpigrad.zeros(2)
        for rref in self.rrefs:
            total += rref.to_here()
        return total


def box_there(a: int) -> RRef:
    return rpc.RRef(Box(a))


def holder_there(size: int) -> RRef:
    return rpc.RRef(Holder(size), type_hint=Gives)


@mpigrad.jit.script
def box_value(rref: RRef[Box]) -> int:
    return rref.to_here().get()


@mpigrad.jit.script
def holder_value(rref: RRef[Gives]) -> Tensor:
    return rref.to_here().forward()


def use_box(rref: RRef[Box]) -> int:
    args = (rref,)
    kwargs: dict[str, Any] = {}
    return rpc.rpc_async(rref.owner(), box_value, args, kwargs).wait()


def use_holder(rref: RRef[Gives]) -> Tensor:
    return rpc.rpc_sync(rref.owner_name(), holder_value, (rref,), {})


@mpigrad.jit.ignore
def make_holder(size: int) -> Gives:
    return Holder(size)


@mpigrad.jit.script
def holder(size: int) -> Gives:
    return make_holder(size)


@mpigrad.jit.script
def local(rref: RRef[Tensor]) -> Tensor:
    return rref.local_value()


@mpigrad.jit.script
def numbers() -> list[int]:
    return [1, 2, 3]


@mpigrad.jit.script
def extend(rref: RRef[list[int]]) -> None:
    rref.local_value().append(4)
    rref.to_here().append(5)
    rref.to_here(5.0).append(6)


@mpigrad.jit.script
def save_it(rref: RRef[Tensor], name: str) -> None:
    mpigrad.save(rref, name)


@mpigrad.jit.script
def save_tensor(x: Tensor, name: str) -> None:
    mpigrad.save(x, name)


def run_file(data: bytes) -> Tensor:
    return mpigrad.jit.load(io.BytesIO(data))()


def is_scripted(rref: RRef) -> bool:
    return isinstance(rref.local_value(), mpigrad.jit.ScriptModule)


def owners() -> int:
    return int(rpc._rref_context_get_debug_info()["num_forks"])
