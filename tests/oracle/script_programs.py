"""Scripts that both libraries run; the test sets `T`, the library, before this file is executed."""

# ruff: noqa: F821

from __future__ import annotations

T = T  # type: ignore[name-defined,has-type]
rpc, RRef, Tensor = T.distributed.rpc, T.distributed.rpc.RRef, T.Tensor


@T.jit.script
def scaled(x, n: int, by: float = 1.0, word: str = "w", flag: bool = True):
    return x * n * by


@T.jit.script
def call(to: str, args: tuple[Tensor, int], kwargs: dict[str, float]):
    return rpc.rpc_async(to, scaled, args, kwargs).wait()


@T.jit.script
class Box:
    def __init__(self, a: int):
        self.a = a

    def get(self) -> int:
        return self.a


@T.jit.interface
class Gives(T.nn.Module):
    def forward(self) -> Tensor:
        pass


@T.jit.interface
class Takes(T.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Holder(T.jit.ScriptModule):
    def __init__(self, size: int):
        super().__init__()
        self.a = T.ones(size)

    @T.jit.script_method
    def forward(self) -> Tensor:
        return self.a


class Plain(T.nn.Module):
    pass


class Derived(list):
    pass


@T.jit.script
def boxed(n: int) -> int:
    box = Box(n)
    box.a += 1
    return box.get()


@T.jit.script
def save_it(rref: RRef[Tensor], name: str) -> None:
    T.save(rref, name)


@rpc.functions.async_execution
@T.jit.script
def no_future() -> Tensor:
    return T.zeros(2)


def too_few(to: str):
    args = (T.ones(1),)
    return rpc.rpc_async(to, scaled, args)


def too_many(to: str):
    args = (T.ones(1), 1, 1.0, "w", True, 2)
    return rpc.rpc_async(to, scaled, args)


def no_function(to: str):
    return rpc.rpc_async(to)


def wrong_type(to: str):
    args = (T.ones(1), "a")
    return rpc.rpc_async(to, scaled, args)


def set_wrong(box: Box):
    box.a = "text"


def set_unknown(box: Box):
    box.b = 1


def call_wrong(box: Box) -> int:
    return box.nothing()


COMPILED = [too_few, too_many, no_function, wrong_type, set_wrong, set_unknown, call_wrong]
x = T.ones(2)
ARGUMENTS = [
    ((), {}), ((x,), {}), ((x, 1, 2.0, "w", True, 5), {}), ((x, 1), {"q": 1}), ((x, 1), {"n": 1}), ((x, 1), {"by": 2.0}),
    ((x, 1, 3.0), {}),
]  # fmt: skip
KEYWORDS = [{}, {"by": 2.0}, {"q": 1.0}, {"n": 1.0}]
