"""Remote modules with an interface: scripts call them, with gradients; they are made anew elsewhere, not sent."""

from __future__ import annotations

import io

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import Tensor, nn
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.nn.api.remote_module import _RemoteModule
from mpigrad.futures import Future

pytestmark = [pytest.mark.mpi(min_size=1), pytest.mark.host]


@mpigrad.jit.interface
class Tells:
    def forward(self, x: Tensor, number: int, word: str = "default") -> tuple[str, int, Tensor]:
        pass


@mpigrad.jit.interface
class TellsLater:
    def forward(self, x: Tensor, number: int, word: str = "default") -> tuple[str, int, Tensor]:
        pass

    def forward_async(self, x: Tensor, number: int, word: str = "default") -> Future[tuple[str, int, Tensor]]:
        pass


@mpigrad.jit.interface
class Silent:
    def other(self) -> int:
        pass


class Teller(nn.Module):
    def __init__(self, by: float, more: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(mpigrad.ones(2) * by + more)

    def forward(self, x: Tensor, number: int, word: str = "default") -> tuple[str, int, Tensor]:
        return word, number, x * self.weight


@mpigrad.jit.script
def call(module: Tells, x: Tensor) -> tuple[str, int, Tensor]:
    return module.forward(x, 2)


@mpigrad.jit.script
def call_later(module: TellsLater, x: Tensor) -> tuple[str, int, Tensor]:
    return module.forward_async(x, 3, "later").wait()


def remote_teller(to: str, interface: type = Tells) -> _RemoteModule:
    return _RemoteModule(to, Teller, (3.0,), {"more": 1.0}, _module_interface_cls=interface)


def told(answer: tuple[str, int, Tensor]) -> tuple[str, int, list[float]]:
    return answer[0], answer[1], answer[2].tolist()


def test_scripts_call_a_remote_module(rpc_world) -> None:
    remote = remote_teller(rpc_world.next_name)
    scripted = mpigrad.jit.script(remote)
    x = mpigrad.tensor([1.0, 2.0])
    assert remote.is_scriptable and not RemoteModule(rpc_world.next_name, nn.Linear, (1, 1)).is_scriptable
    assert told(call(scripted, x)) == ("default", 2, [4.0, 8.0])
    assert told(call_later(scripted, x)) == ("later", 3, [4.0, 8.0])
    for module in (remote, scripted):  # and so does Python
        assert told(module(x, 5)) == told(module.forward(x, 5, "default")) == ("default", 5, [4.0, 8.0])
        assert told(module.forward_async(x, 5, "w").wait()) == ("w", 5, [4.0, 8.0])


def test_gradients_reach_the_module(rpc_world) -> None:
    remote = remote_teller(rpc_world.next_name)
    scripted, x = mpigrad.jit.script(remote), mpigrad.tensor([1.0, 2.0], requires_grad=True)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [call(scripted, x)[2].sum()])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [4.0, 4.0]
        there = rpc.rpc_sync(rpc_world.next_name, weight_gradient, args=(context_id, remote.remote_parameters()[0]))
        assert there.tolist() == [1.0, 2.0]


def weight_gradient(context_id: int, weight: rpc.RRef) -> Tensor:
    return dist_autograd.get_gradients(context_id)[weight.local_value()]


def test_arguments_that_do_not_fit_the_interface(rpc_world) -> None:
    scripted = mpigrad.jit.script(remote_teller(rpc_world.next_name))
    with pytest.raises(RuntimeError, match=r"forward\(\) Expected a value of type 'int' for argument 'number'"):
        scripted(mpigrad.ones(2), "two")
    with pytest.raises(RuntimeError, match=r"forward\(\) is missing value for argument 'number'"):
        scripted(mpigrad.ones(2))


def call_here(module_rref: rpc.RRef) -> tuple[str, int, Tensor]:
    """Another remote module for the same module, made where it is wanted."""
    made = RemoteModule.init_from_module_rref(module_rref.owner_name(), module_rref, Tells)
    return call(mpigrad.jit.script(made), mpigrad.ones(2))


def test_a_scripted_remote_module_is_not_sent_but_made_anew(rpc_world) -> None:
    remote, last = remote_teller(rpc_world.next_name), rpc_world.worker(rpc_world.rank + 2)
    assert told(rpc.rpc_sync(last, call_here, args=(remote.get_module_rref(),))) == ("default", 2, [4.0, 4.0])
    with pytest.raises(RuntimeError, match="Passing a script RemoteModule over RPC is not supported. Please create"):
        rpc.rpc_sync(last, told, args=(mpigrad.jit.script(remote),))
    with pytest.raises(RuntimeError, match="Cannot pickle RemoteModule in python pickler"):
        rpc.rpc_sync(last, told, args=(remote,))
    with pytest.raises(mpigrad.jit.Error, match="can only be pickled when using RPC"):
        mpigrad.save(mpigrad.jit.script(remote), io.BytesIO())


def test_an_interface_that_is_made_first_on_another_worker(rpc_world) -> None:
    """The owner learns of the interface when the RemoteModule is created, even if another worker created the module."""

    made = rpc.rpc_sync(rpc_world.next_name, hold_teller)
    remote = RemoteModule.init_from_module_rref(rpc_world.next_name, made, Tells)
    assert told(call(mpigrad.jit.script(remote), mpigrad.ones(2))) == ("default", 2, [1.0, 1.0])


def hold_teller() -> rpc.RRef:
    return rpc.RRef(mpigrad.jit.script(Teller(1.0)), Tells)


@pytest.mark.parametrize(
    ("interface", "error", "said"),
    [
        (Teller, ValueError, "must be a type object decorated by @mpigrad.jit.interface"),
        (7, ValueError, "module_interface_cls 7 must be a type object decorated"),
        (Silent, AssertionError, "Expect forward in interface methods, while it has"),
    ],
)
def test_what_is_no_interface_of_a_module(rpc_world, interface, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        remote_teller(rpc_world.next_name, interface)
