"""`DistributedDataParallel`: gradients of the whole batch, on every rank, with every option; beside RPC; in uneven loops."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from mpigrad.distributed.optim import ZeroRedundancyOptimizer
from mpigrad.nn.parallel import DistributedDataParallel as DDP

ROWS = 3  # per rank


@pytest.fixture
def group(world) -> Iterator[Any]:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


def network(seed: int) -> nn.Sequential:
    mpigrad.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))


def batch(rank: int, step: int = 0) -> mpigrad.Tensor:
    return mpigrad.tensor(np.random.default_rng([rank, step]).normal(size=(ROWS, 4)), dtype=mpigrad.float32)


def whole_batch(size: int, step: int = 0) -> mpigrad.Tensor:
    return mpigrad.cat([batch(rank, step) for rank in range(size)])


def loss_of(made: mpigrad.Tensor) -> mpigrad.Tensor:
    return (made**2).mean()


def grads(model: nn.Module) -> list[np.ndarray]:
    return [each.grad.numpy() for each in model.parameters()]


def assert_near(found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float = 1e-6) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other, atol=tolerance), (one, other)


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bucket_cap_mb": 1e-4},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 1e-4},
        {"find_unused_parameters": True},
        {"static_graph": True, "bucket_cap_mb": 1e-4},
    ],
    ids=str,
)
def test_gradients_are_those_of_the_whole_batch(group, options: dict[str, Any]) -> None:
    model, alone = DDP(network(seed=group.rank), **options), network(seed=0)
    assert list(model.state_dict()) == [f"module.{name}" for name in alone.state_dict()]
    ours, theirs = optim.SGD(model.parameters(), lr=0.1), optim.SGD(alone.parameters(), lr=0.1)
    for step in range(4):
        ours.zero_grad(set_to_none=bool(step % 2))
        theirs.zero_grad()
        loss_of(model(batch(group.rank, step))).backward()
        loss_of(alone(whole_batch(group.world_size, step))).backward()
        assert_near(grads(model), grads(alone))
        ours.step()
        theirs.step()
    if options.get("gradient_as_bucket_view"):
        buckets = model.reducer._place
        assert all(np.shares_memory(each.grad._array, buckets[id(each)][0].flat._array) for each in model.parameters())


def wide_network(seed: int) -> nn.Sequential:
    """Its second weight has 600 kB: it is reduced where it is."""
    mpigrad.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 300), nn.Tanh(), nn.Linear(300, 500), nn.Tanh(), nn.Linear(500, 1))


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}, {"gradient_as_bucket_view": True}], ids=str)
def test_large_gradients(group, options: dict[str, Any]) -> None:
    """Also in loops of different lengths."""
    model, alone, size = DDP(wide_network(seed=group.rank), **options), wide_network(seed=0), group.world_size
    for step in range(3):
        model.zero_grad(), alone.zero_grad()
        loss_of(model(batch(group.rank, step))).backward()
        loss_of(alone(whole_batch(size, step))).backward()
        assert_near(grads(model), grads(alone), 1e-5)
    with model.join(divide_by_initial_world_size=False):
        for step in range(group.rank + 1):
            model.zero_grad()
            loss_of(model(batch(group.rank, step))).backward()
    alone.zero_grad()
    loss_of(alone(batch(size - 1, size - 1))).backward()  # of the last rank alone
    assert_near(grads(model), grads(alone), 1e-5)


@pytest.mark.mpi(min_size=1)
def test_a_large_unused_gradient_stays(group) -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(4, 300, bias=False), nn.Linear(300, 500, bias=False)

        def forward(self, x: mpigrad.Tensor) -> mpigrad.Tensor:
            return self.used(x)

    model = DDP(Half(), find_unused_parameters=True)
    model.module.unused.weight.grad = mpigrad.full((500, 300), float(group.rank))
    loss_of(model(batch(group.rank))).backward()
    assert (model.module.unused.weight.grad == group.rank).all()


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deepcopy", "pickle"])
def test_copies(group, copied: Any) -> None:
    """A copy averages gradients of its own parameters; one rank may make a copy alone, such as an averaged model."""
    model, alone = DDP(network(0)), network(0)
    loss_of(model(batch(group.rank))).backward()
    if not group.rank:
        copied(model)
    model.zero_grad()
    other = copied(model)
    loss_of(other(batch(group.rank))).backward()
    loss_of(alone(whole_batch(group.world_size))).backward()
    assert_near(grads(other), grads(alone))
    assert model.module[0].weight.grad is None
    with pytest.raises(RuntimeError, match="only supported when using DDP with the default process group"):
        copied(DDP(network(0), process_group=dist.new_group()))


@pytest.mark.mpi(min_size=2)
def test_no_sync_adds_up_locally(group) -> None:
    model, alone = DDP(network(seed=0)), network(seed=0)
    with model.no_sync():
        loss_of(model(batch(group.rank, 0))).backward()
    local = network(seed=0)
    loss_of(local(batch(group.rank, 0))).backward()
    assert_near(grads(model), grads(local))
    loss_of(model(batch(group.rank, 1))).backward()
    for step in (0, 1):
        loss_of(alone(whole_batch(group.world_size, step))).backward()
    assert_near(grads(model), grads(alone))


class Branches(nn.Module):
    """Uses one of its layers, and never the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])

    def forward(self, x: mpigrad.Tensor, which: int) -> mpigrad.Tensor:
        return self.layers[which](x)


@dataclass
class Output:
    """A result of a forward, with its tensor inside."""

    made: list[mpigrad.Tensor]


class BranchesOfOutput(Branches):
    def forward(self, x: mpigrad.Tensor, which: int) -> Any:
        return Output([super().forward(x, which)])


class BranchesOfReference(Branches):
    def forward(self, x: mpigrad.Tensor, which: int) -> Any:
        return rpc.RRef(super().forward(x, which))


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("options", [{"find_unused_parameters": True}, {"static_graph": True}], ids=str)
@pytest.mark.parametrize("kind", [Branches, BranchesOfOutput], ids=["tensor", "dataclass"])
def test_unused_parameters(group, kind: Any, options: dict[str, Any]) -> None:
    mpigrad.manual_seed(0)
    model = DDP(kind(), **options)
    which, size = min(group.rank, 1), group.world_size
    for step in range(3):
        model.zero_grad()
        made = model(batch(group.rank, step), which)
        (made.made[0] if isinstance(made, Output) else made).sum().backward()
        sums = [batch(rank, step).numpy().sum(0, keepdims=True) for rank in range(size)]
        first, second, third = model.module.layers
        assert_near([first.weight.grad.numpy()], [sums[0] / size])
        assert_near([second.weight.grad.numpy()], [sum(sums[1:]) / size])
        assert third.weight.grad is None


@pytest.mark.mpi(min_size=2)
def test_unused_parameters_below_a_reference(rpc_world) -> None:
    """The tensor of an RRef that this worker owns is searched, too."""
    dist.init_process_group(rank=rpc_world.rank, world_size=rpc_world.world_size)
    model = DDP(BranchesOfReference(), find_unused_parameters=True)
    model(mpigrad.full((1, 4), rpc_world.rank + 1.0), 0).local_value().sum().backward()
    assert model.module.layers[0].weight.grad[0, 0].item() == (rpc_world.world_size + 1) / 2
    dist.destroy_process_group()


@pytest.mark.mpi(min_size=2)
def test_unused_parameters_are_an_error_unless_looked_for(group) -> None:
    model = DDP(Branches())
    model(batch(group.rank), 0).sum().backward()
    with pytest.raises(RuntimeError, match=r"finished reduction in the prior iteration.*layers\.1\.weight"):
        model(batch(group.rank), 0)


@pytest.mark.mpi(min_size=2)
def test_buffers_follow_the_first_rank(group) -> None:
    mpigrad.manual_seed(group.rank)
    model = DDP(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)))
    for step in range(2):
        model(batch(group.rank, step)).sum().backward()
    model.require_forward_param_sync = True
    model.eval()
    model(batch(0))
    means = [None] * group.world_size
    dist.all_gather_object(means, model.module[1].running_mean.tolist())
    assert all(each == means[0] for each in means)


HOOKS: dict[str, tuple[Any, float]] = {
    "allreduce": (default_hooks.allreduce_hook, 1e-6),
    "fp16": (default_hooks.fp16_compress_hook, 2e-3),
    "bf16": (default_hooks.bf16_compress_hook, 1e-2),
    "fp16 around allreduce": (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3),
}


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("name", HOOKS)
def test_communication_hooks(group, name: str) -> None:
    hook, tolerance = HOOKS[name]
    model, alone = DDP(network(seed=0), bucket_cap_mb=1e-4), network(seed=0)
    model.register_comm_hook(None, hook)
    loss_of(model(batch(group.rank))).backward()
    loss_of(alone(whole_batch(group.world_size))).backward()
    assert_near(grads(model), grads(alone), tolerance)
    with pytest.raises(RuntimeError, match="can only be called once"):
        model.register_comm_hook(None, hook)


@pytest.mark.mpi(min_size=2)
def test_power_sgd(group) -> None:
    """Thin gradients are averaged whole; of a layer that is compressed, the error of a step is added to the next one."""
    mpigrad.manual_seed(0)
    model, alone = DDP(nn.Linear(30, 20, bias=False)), nn.Linear(30, 20, bias=False)
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    random = np.random.default_rng(0)
    given = [mpigrad.tensor(random.normal(size=(8, 30)), dtype=mpigrad.float32) for _ in range(group.world_size)]
    total, wanted = np.zeros((20, 30)), np.zeros((20, 30))
    for step in range(40):
        for net, x in ((model, given[group.rank]), (alone, mpigrad.cat(given))):
            net.zero_grad()
            (net(x).sum(1).pow(2).mean() * 0 + net(x)[:, :6].sum() / x.shape[0]).backward()
        total += model.module.weight.grad.numpy()
        wanted += alone.weight.grad.numpy()
        if step < 2:
            assert np.allclose(total, wanted, atol=1e-4)
    assert np.linalg.norm(total - wanted) < 0.05 * np.linalg.norm(wanted)
    with pytest.raises(ValueError, match="start_powerSGD_iter"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize(("wrapper", "tolerance"), [("fp16_compress_wrapper", 5e-3), ("bf16_compress_wrapper", 5e-2)])
def test_power_sgd_in_short_types(group, wrapper: str, tolerance: float) -> None:
    """The compressing hook gets gradients of the shorter type; with a rank as large as the matrices nothing is left out."""
    model, alone = DDP(network(seed=0)), network(seed=0)
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=6, start_powerSGD_iter=2, min_compression_rate=0.1)
    model.register_comm_hook(state, getattr(default_hooks, wrapper)(powerSGD_hook.powerSGD_hook))
    for step in range(4):
        model.zero_grad()
        alone.zero_grad()
        loss_of(model(batch(group.rank, step))).backward()
        loss_of(alone(whole_batch(group.world_size, step))).backward()
        assert_near(grads(model), grads(alone), tolerance)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("divide_by_initial", [True, False])
def test_join_of_loops_of_different_lengths(group, divide_by_initial: bool) -> None:
    """Rank r has r + 1 batches; the result is that of a loop over what is left in each step."""
    model, alone, size = DDP(network(seed=0), bucket_cap_mb=1e-4), network(seed=0), group.world_size
    ours, theirs = optim.SGD(model.parameters(), lr=0.1), optim.SGD(alone.parameters(), lr=0.1)
    with model.join(divide_by_initial_world_size=divide_by_initial):
        for step in range(group.rank + 1):
            ours.zero_grad()
            loss_of(model(batch(group.rank, step))).backward()
            ours.step()
    for step in range(size):
        theirs.zero_grad()
        left = range(step, size)
        total = sum(loss_of(alone(batch(rank, step))) for rank in left)
        (total / (size if divide_by_initial else len(left))).backward()
        theirs.step()
    assert_near([each.detach().numpy() for each in model.parameters()], [each.detach().numpy() for each in alone.parameters()])


@pytest.mark.mpi(min_size=2)
def test_join_can_end_all_ranks(group) -> None:
    model = DDP(network(seed=0))
    with pytest.raises(RuntimeError, match="Rank 0 exhausted" if group.rank == 0 else "at least one rank that exhausted inputs"):
        with model.join(throw_on_early_termination=True):
            for step in range(group.rank + 1):
                loss_of(model(batch(group.rank, step))).backward()


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_sparse_embeddings(group) -> None:
    mpigrad.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(10, 2, sparse=True), nn.Linear(2, 1)))
    model(mpigrad.tensor([group.rank, 9])).sum().backward()
    grad, weight = model.module[0].weight.grad, model.module[1].weight.detach().numpy()[0]
    assert grad.is_sparse
    wanted = np.zeros((10, 2))
    for rank in range(group.world_size):
        np.add.at(wanted, [rank, 9], weight / group.world_size)
    assert np.allclose(grad.to_dense().numpy(), wanted, atol=1e-6)


@pytest.mark.mpi(min_size=2)
def test_different_models_are_an_error(group) -> None:
    with pytest.raises(RuntimeError, match=r"params\[0\] \(weight\) of rank \d+ is mpigrad.float32"):
        DDP(nn.Linear(4, group.rank + 1))
    with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
        DDP(nn.ReLU())


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_an_optimizer_whose_state_is_divided(group) -> None:
    """As Adam on every rank, with a share of its state each; the whole state can be saved and loaded."""
    model, alone = DDP(network(seed=0)), network(seed=0)
    ours = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=optim.Adam, lr=0.1)
    theirs = optim.Adam(alone.parameters(), lr=0.1)
    schedulers = [optim.lr_scheduler.StepLR(each, 1, 0.5) for each in (ours, theirs)]
    for step in range(4):
        for net, optimizer, x in ((model, ours, batch(group.rank, step)), (alone, theirs, whole_batch(group.world_size, step))):
            optimizer.zero_grad()
            loss_of(net(x)).backward()
            optimizer.step()
        for each in schedulers:
            each.step()
        assert_near([p.detach().numpy() for p in model.parameters()], [p.detach().numpy() for p in alone.parameters()], 1e-4)
        if step == 1:
            assert len(ours.state) < 6 or group.world_size == 1
            ours.consolidate_state_dict(to=0)
            saved = [ours.state_dict() if group.rank == 0 else None]
            dist.broadcast_object_list(saved, src=0)
            assert sorted(saved[0]["state"]) == list(range(6)) == sorted(theirs.state_dict()["state"])
            if group.rank:
                with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
                    ours.state_dict()
            ours.load_state_dict(saved[0])


@pytest.mark.mpi(min_size=2)
def test_states_of_a_group_are_collected_on_a_rank_of_the_group(group) -> None:
    members = [rank for rank in range(group.world_size) if rank]
    some = dist.new_group(members)
    if group.rank:
        model = network(0)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, process_group=some)
        loss_of(model(batch(0))).backward()
        optimizer.step()
        optimizer.consolidate_state_dict()
        if group.rank == members[0]:
            assert sorted(optimizer.state_dict()["state"]) == list(range(6))
        else:
            with pytest.raises(RuntimeError, match=rf"consolidate_state_dict\(to={group.rank - 1}\)"):
                optimizer.state_dict()


@pytest.mark.mpi(min_size=1)
def test_closure_of_a_divided_optimizer(group) -> None:
    """`zero_grad` in a closure clears all gradients, not only those of this rank's share, which DDP would average again."""
    model, alone = DDP(network(0)), network(0)
    ours = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=optim.SGD, lr=0.1)
    theirs = optim.SGD(alone.parameters(), lr=0.1)
    for step in range(3):
        for net, optimizer, x in ((model, ours, batch(group.rank, step)), (alone, theirs, whole_batch(group.world_size, step))):

            def closure() -> Any:
                optimizer.zero_grad()
                loss = loss_of(net(x))
                loss.backward()
                return loss

            optimizer.step(closure)
        assert_near([p.detach().numpy() for p in model.parameters()], [p.detach().numpy() for p in alone.parameters()], 1e-5)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_batch_norm_in_half_precision(group, kind: str) -> None:
    """As of whole numbers, with sums that half precision cannot represent."""
    chosen = getattr(mpigrad, kind)
    x = (mpigrad.tensor(np.random.default_rng(group.rank).normal(size=(300, 2, 20, 20))) + 5).to(chosen)
    short, whole = nn.SyncBatchNorm(2).to(chosen), nn.SyncBatchNorm(2)
    found, wanted = short(x.requires_grad_()), whole(x.detach().float())
    assert found.dtype is chosen and mpigrad.allclose(found.float(), wanted, atol=0.05)
    assert mpigrad.allclose(short.running_mean.float(), whole.running_mean, rtol=0.01)
    found.float().sum().backward()
    assert x.grad.dtype is chosen and mpigrad.isfinite(x.grad.float()).all()
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements not 2"):
        whole(mpigrad.ones(4, 3))


@pytest.mark.mpi(min_size=2)
def test_batch_norm_over_all_ranks(group) -> None:
    """Batches of different sizes, inside DDP: as one process with the whole batch."""
    rank, size = group.rank, group.world_size
    sizes = [each + 2 for each in range(size)]
    whole = mpigrad.tensor(np.random.default_rng(0).normal(size=(sum(sizes), 3, 2)), dtype=mpigrad.float64)
    mine = whole.split(sizes)[rank]

    def network() -> nn.Sequential:
        mpigrad.manual_seed(0)
        return nn.Sequential(nn.BatchNorm1d(3), nn.Flatten(), nn.Linear(6, 1)).double()

    model, alone = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(network())), network()
    assert isinstance(model.module[0], nn.SyncBatchNorm) and list(model.module.state_dict()) == list(alone.state_dict())
    for _ in range(2):
        (model(mine) ** 2).sum().backward()
        (alone(whole) ** 2).sum().backward()
    assert_near([each * size for each in grads(model)], grads(alone), 1e-9)
    for ours, theirs in zip(model.module[0].buffers(), alone[0].buffers()):
        assert np.allclose(ours.numpy(), theirs.numpy())
    model.eval(), alone.eval()
    assert np.allclose(model(mine).detach().numpy(), alone(mine).detach().numpy())


def _look_up(table: Any, ids: mpigrad.Tensor) -> mpigrad.Tensor:
    return table.local_value()(ids)


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_dense_part_in_a_context_beside_a_table_by_rpc(group) -> None:
    """PyTorch's hybrid: the table's gradient stays on its owner, that of the dense part is averaged in all contexts."""
    rank, size = group.rank, group.world_size
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    mpigrad.manual_seed(0)
    dense = nn.Linear(3, 2)
    model = DDP(dense, bucket_cap_mb=1e-6)
    table = rpc.remote("worker0", nn.EmbeddingBag, args=(10, 3), kwargs={"mode": "sum"})
    for step in range(3):
        ids = mpigrad.tensor([[rank, step], [rank + 1, 5]])
        with dist_autograd.context() as context_id:
            rows = rpc.rpc_sync("worker0", _look_up, args=(table, ids))
            dist_autograd.backward(context_id, [(model(rows) ** 2).sum()])
            found = dist_autograd.get_gradients(context_id)
            mine = [found[each].numpy() for each in dense.parameters()]
        alone = nn.Linear(3, 2)
        alone.load_state_dict(dense.state_dict())
        (alone(rows.detach()) ** 2).sum().backward()
        all_of_them: list[Any] = [None] * size
        dist.all_gather_object(all_of_them, grads(alone))
        assert_near(mine, [sum(each) / size for each in zip(*all_of_them)], 1e-4)
        assert dense.weight.grad is None
    rpc.shutdown()
