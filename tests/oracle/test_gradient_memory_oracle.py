"""Which memory gradients have, in `.grad` and in contexts: that of what `backward` returned, or a copy, as in PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd
import mpigrad.distributed.rpc
from mpigrad._core import objects

from .test_port_oracle import free_port

torch = pytest.importorskip("torch")
torch_rpc = pytest.importorskip("torch.distributed.rpc")

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")
SHAPE = (4, 3)
COUNTS_HOLDERS = not str(objects.__file__).endswith(".py")  # plain Python copies every gradient
HELD: list[Any] = []


def hold(value: Any) -> Any:
    HELD.append(value)
    return value


def ones(T: Any) -> Any:
    return T.ones(SHAPE)


def sparse(T: Any, indices: Any = None, values: Any = None) -> Any:
    indices = T.tensor([[0, 2]]) if indices is None else indices
    return T.sparse_coo_tensor(indices, T.ones(2, 3) if values is None else values, SHAPE)


def twice(value: Any) -> tuple[Any, Any]:
    return value, value


def and_hold(made: Any, view: Callable[[Any], Any]) -> Any:
    hold(view(made))
    return made


RETURNED: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "one each": lambda T, g: (ones(T), ones(T)),
    "one": lambda T, g: (ones(T), None),
    "the same for both": lambda T, g: twice(ones(T)),
    "held": lambda T, g: (hold(ones(T)), ones(T)),
    "a view is held": lambda T, g: (and_hold(ones(T), lambda t: t.view(-1)), ones(T)),
    "views of nothing else": lambda T, g: (T.ones(8, 3)[:4], T.ones(12).view(4, 3)),
    "columns": lambda T, g: (T.ones(4, 6)[:, :3], ones(T)),
    "expanded": lambda T, g: (T.ones(1, 3).expand(4, 3), T.ones(1).expand(4, 3)),
    "transposed": lambda T, g: (T.ones(3, 4).t(), ones(T)),
    "what came": lambda T, g: (g, None),
    "what came, held": lambda T, g: (hold(g), None),
    "sparse, one each": lambda T, g: (sparse(T), sparse(T)),
    "sparse, the same for both": lambda T, g: twice(sparse(T)),
    "sparse, held": lambda T, g: (hold(sparse(T)), sparse(T)),
    "sparse, parts held": lambda T, g: (sparse(T, hold(T.tensor([[0, 2]])), hold(T.ones(2, 3))), None),
    "sparse, indices seen": lambda T, g: (and_hold(sparse(T), lambda t: t._indices()), sparse(T)),
    "sparse, values seen": lambda T, g: (and_hold(sparse(T), lambda t: t._values()), sparse(T)),
    "sparse, uncoalesced": lambda T, g: (sparse(T, T.tensor([[0, 0]])), None),
    "sparse, values transposed": lambda T, g: (sparse(T, values=T.ones(3, 2).t()), None),
    "sparse, values expanded": lambda T, g: (sparse(T, values=T.ones(1, 3).expand(2, 3)), None),
    "sparse, indices with gaps": lambda T, g: (sparse(T, T.tensor([[0, 5, 2, 5]])[:, ::2]), None),
}


@pytest.fixture(scope="module", autouse=True)
def both_worlds() -> Iterator[None]:
    options = torch_rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{free_port()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls what it has deprecated
        torch_rpc.init_rpc("solo", rank=0, world_size=1, rpc_backend_options=options)
    mpigrad.distributed.rpc.init_rpc("solo", rank=0, world_size=1)
    yield
    mpigrad.distributed.rpc.shutdown()
    torch_rpc.shutdown()


def places(tensor: Any) -> list[int]:
    return [each.data_ptr() for each in ((tensor._indices(), tensor._values()) if tensor.is_sparse else (tensor,))]


def applied(T: Any, returned: Any, seen: list[Any]) -> Any:
    class Returns(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            return sum(inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            made = returned(T, grad)
            seen.append([None if each is None else places(each) for each in made])
            return made

    return Returns.apply


def passes(T: Any, in_context: bool) -> Any:
    """How to run backward, and where the gradient of a leaf is then."""
    if not in_context:
        return SimpleNamespace(run=lambda loss: loss.backward(), of=lambda leaf: leaf.grad, end=lambda: None)
    dist_autograd = T.distributed.autograd
    context = dist_autograd.context()
    context_id = context.__enter__()
    return SimpleNamespace(
        run=lambda loss: dist_autograd.backward(context_id, [loss]),
        of=lambda leaf: dist_autograd.get_gradients(context_id).get(leaf),
        end=lambda: context.__exit__(None, None, None),
    )


def memory_of(T: Any, returned: Any, in_context: bool) -> Any:
    HELD.clear()
    seen: list[Any] = []
    leaves = [T.ones(SHAPE, requires_grad=True) for _ in range(2)]
    how = passes(T, in_context)
    try:
        how.run((applied(T, returned, seen)(*leaves) * 2).sum())
        found = []
        for leaf, given in zip(leaves, seen[0]):
            grad = how.of(leaf)
            if grad is None or given is None:
                found.append((grad is None, given is None))
            else:
                found.append(([a == b for a, b in zip(places(grad), given)], None if grad.is_sparse else grad.stride()))
            del grad
        return found
    finally:
        how.end()


@pytest.mark.parametrize("in_context", [False, True])
@pytest.mark.parametrize("name", RETURNED)
def test_memory_of_gradients(name: str, in_context: bool) -> None:
    expected = memory_of(torch, RETURNED[name], in_context)
    ours = memory_of(mpigrad, RETURNED[name], in_context)
    assert ours == expected if COUNTS_HOLDERS else [strides for _, strides in ours] == [strides for _, strides in expected]


def sums(T: Any, first: Any, second: Any, in_context: bool) -> Any:
    """Two passes: is the second sum in the memory of the first gradient, is it the same object, and what is in both?"""
    order = [first, second]
    leaf = T.ones(SHAPE, requires_grad=True)
    how = passes(T, in_context)
    try:
        found = []
        for make in order:
            how.run(applied(T, lambda T, g, make=make: (make(T),), [])(leaf).sum())
            found.append((how.of(leaf), places(how.of(leaf))))
        (before, place), (after, later) = found
        dense = [each.to_dense() if each.is_sparse else each for each in (before, after)]
        return place == later, before is after, [each.sum().item() for each in dense], after.is_sparse
    finally:
        how.end()


@pytest.mark.parametrize("in_context", [False, True])
@pytest.mark.parametrize(("first", "second"), [(ones, ones), (ones, sparse), (sparse, sparse), (sparse, ones)])
def test_sums_of_gradients(first: Any, second: Any, in_context: bool) -> None:
    ours = sums(mpigrad, first, second, in_context)
    if in_context and (first, second) == (sparse, ones):
        assert ours == (False, False, [6.0, 18.0], False)  # PyTorch loses the dense gradient
        assert sums(torch, first, second, in_context)[2] == [6.0, 6.0]
    else:
        assert ours == sums(torch, first, second, in_context)


def test_leaves_get_their_gradients_in_order() -> None:
    def order(T: Any) -> str:
        seen: list[str] = []
        x, y, z = (T.ones(SHAPE, requires_grad=True) for _ in range(3))
        for name, leaf in (("x", x), ("y", y), ("z", z)):
            leaf.register_post_accumulate_grad_hook(lambda _, name=name: seen.append(name))
        for loss in (x + y, T.cat([x, y, z]), x * y + z, z + x * y, T.stack([z, y * 2, x]), T.where(x > 0, y, z)):
            loss.sum().backward()
            seen.append("|")
        return "".join(seen)

    assert order(mpigrad) == order(torch)
