"""`mpigrad.cuda` and tensors on GPUs: devices, copies, streams, memory, random numbers, and errors for mixed devices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mpigrad as T
from mpigrad import cuda


@pytest.fixture(autouse=True)
def on_the_cpu_unless_told() -> Iterator[None]:
    with T.device("cpu"):
        yield
    cuda.set_device(0)


BOTH = pytest.mark.parametrize("place", ["cuda:0", "cuda:1"])


def test_devices() -> None:
    assert cuda.is_available() and cuda.device_count() >= 2 and cuda.is_initialized()
    assert cuda.current_device() == 0 and T.ones(1, device="cuda").device == T.device("cuda", 0)
    with cuda.device(1):
        assert cuda.current_device() == 1 and T.ones(1, device="cuda").device.index == 1
        with cuda.device(None), cuda.device(-1):
            assert cuda.current_device() == 1
    cuda.set_device("cuda:1")
    assert cuda.current_device() == 1 and T.ones(1).cuda().device.index == 1
    with cuda.device_of(T.ones(1, device="cuda:0")):
        assert cuda.current_device() == 0
    found = cuda.get_device_properties(1)
    assert found.name == cuda.get_device_name(1) and cuda.get_device_capability(1) == (found.major, found.minor)
    assert found.total_memory > 0 and f"sm_{found.major}{found.minor}" in cuda.get_arch_list()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        T.ones(1, device=f"cuda:{cuda.device_count()}")
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        cuda.set_device("cpu")


def test_each_thread_has_a_current_device() -> None:
    seen: list[int] = []
    cuda.set_device(1)
    thread = threading.Thread(target=lambda: seen.append(cuda.current_device()))
    thread.start()
    thread.join(30)
    assert seen == [0] and cuda.current_device() == 1


@BOTH
def test_moving(place: str) -> None:
    x = T.arange(6.0).reshape(2, 3)
    moved = x.to(place)
    assert moved.is_cuda and str(moved.device) == place and moved.get_device() == T.device(place).index
    assert moved.to(place) is moved and moved.cpu().tolist() == x.tolist() and x.cpu() is x
    assert moved.t().cpu().tolist() == x.t().tolist() and moved[:, 1].cpu().tolist() == [1, 4]
    assert moved.to(T.float64).device == moved.device and x.to(moved).device == moved.device
    assert x.to(place, T.int64).dtype is T.int64 and moved.type() == "mpigrad.cuda.FloatTensor"
    assert T.zeros_like(moved).device == moved.new_ones(2).device == T.rand_like(moved).device == moved.device
    assert str(T.nn.Linear(2, 2).to(place).weight.device) == place
    with pytest.raises(TypeError, match=f"can't convert {place} device type tensor to numpy. Use Tensor.cpu"):
        moved.numpy()
    with pytest.raises(TypeError, match="can't convert"):
        np.asarray(moved)


def test_between_gpus() -> None:
    x = T.arange(12.0, device="cuda:0").reshape(3, 4)
    there = x.t().to("cuda:1")
    assert there.device.index == 1 and (there * 2).device.index == 1
    assert there.cpu().tolist() == x.cpu().t().tolist() and there.to("cuda:0").sum().item() == 66
    assert T.ones(0, 2, device="cuda:0").to("cuda:1").shape == (0, 2)


def test_gradients_cross_devices() -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    w = T.tensor([3.0, 4.0], device="cuda:1", requires_grad=True)
    number = T.tensor(2.0, requires_grad=True)
    first = (x.to("cuda:0") * 2).to("cuda:1") * w
    ((first * number).sum().cpu() + x.sum()).backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [13, 17]
    assert w.grad.device.index == 1 and w.grad.tolist() == [4, 8]
    assert number.grad.device.type == "cpu" and number.grad.item() == 22
    assert cuda.current_device() == 0


def test_second_derivatives_cross_devices() -> None:
    x = T.tensor([1.0, 2.0], dtype=T.float64, requires_grad=True)
    assert T.autograd.gradgradcheck(lambda x: (x.cuda(1) ** 3).to("cuda:0").cpu().sum(), (x,))


MIXING: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a.mul_(b),
    "matmul": lambda a, b: a @ b,
    "cat": lambda a, b: T.cat([a, b]),
    "where": lambda a, b: T.where(a > 0, a, b),
    "less": lambda a, b: a < b,
    "lerp": lambda a, b: T.lerp(a, b, 0.5),
    "addcmul": lambda a, b: T.addcmul(a, a, b),
    "addmm": lambda a, b: T.addmm(a, a, b),
    "linear": lambda a, b: T.nn.functional.linear(a, b),
    "mse": lambda a, b: T.nn.functional.mse_loss(a, b),
    "clamp": lambda a, b: T.clamp(a, min=b),
    "maximum": T.maximum,
    "allclose": T.allclose,
    "equal": T.equal,
    "dot": lambda a, b: T.dot(a[0], b[0]),
    "einsum": lambda a, b: T.einsum("ij,jk", a, b),
    "stack": lambda a, b: T.stack([a, b]),
    "masked_fill": lambda a, b: a.masked_fill(b > 0, 1.0),
    "gather": lambda a, b: T.gather(a, 0, b.long()),
    "scatter_add": lambda a, b: a.scatter_add(0, b.long() * 0, b),
    "index_select": lambda a, b: T.index_select(a, 0, b[0].long() * 0),
    "embedding": lambda a, b: T.nn.functional.embedding(b.long() * 0, a),
    "cross_entropy": lambda a, b: T.nn.functional.cross_entropy(a, b[0].long() * 0),
    "layer_norm": lambda a, b: T.nn.functional.layer_norm(a, (2,), b[0]),
    "solve": T.linalg.solve,
    "outer": lambda a, b: T.outer(a[0], b[0]),
    "backward": lambda a, b: (a.requires_grad_() * 2).backward(b),
}


@pytest.mark.parametrize("pair", [("cuda:0", "cpu"), ("cpu", "cuda:1"), ("cuda:0", "cuda:1")], ids="-".join)
@pytest.mark.parametrize("name", MIXING)
def test_devices_are_never_mixed(name: str, pair: tuple[str, str]) -> None:
    a, b = (T.eye(2, device=each) for each in pair)
    with pytest.raises(RuntimeError, match="same device|on a different device|device of grad|device"):
        MIXING[name](a, b)


def test_the_error_names_both_devices() -> None:
    for a, b in (("cpu", "cuda:0"), ("cuda:0", "cpu")):
        expected = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        with pytest.raises(RuntimeError, match=expected):
            T.ones(2, device=a) + T.ones(2, device=b)


@BOTH
def test_numbers_and_single_elements_of_the_cpu_go_anywhere(place: str) -> None:
    x = T.ones(2, device=place)
    for made in (x * T.tensor(3.0), T.tensor(3.0) * x, x * 3, 3 * x, x * np.float32(3), T.where(x > 0, 3.0, x)):
        assert str(made.device) == place and made.tolist() == [3, 3]
    assert T.where(x > 0, 1.0, 2.0).tolist() == [1, 1] and (x > T.tensor(0.5)).tolist() == [True, True]
    x[0] = T.tensor(5.0)
    x[T.tensor([1])] = 7.0
    assert x.tolist() == [5, 7] and x[T.tensor([1, 0])].tolist() == [7, 5]
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        T.ones(2)[T.tensor([0], device=place)]


def test_the_default_device() -> None:
    assert T.get_default_device() == T.device("cpu")
    with T.device("cuda:1"):
        assert T.get_default_device() == T.device("cuda", 1)
        made = [T.ones(1), T.tensor([1]), T.rand(1), T.arange(2), T.eye(2), T.full((1,), 2), T.randperm(2), T.empty(1)]
        assert {str(each.device) for each in made} == {"cuda:1"}
        assert str(T.nn.Linear(1, 1).weight.device) == str(T.as_tensor(np.ones(1)).device) == "cuda:1"
        assert T.from_numpy(np.ones(1)).device.type == T.Tensor([1.0]).device.type == "cpu"
        with T.device("cpu"):
            assert T.ones(1).device.type == "cpu"
        T.set_default_device("cuda:0")
        assert T.ones(1).device.index == 0
    assert T.ones(1).device.type == "cpu"


def test_pinned_memory() -> None:
    x = T.arange(1000.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and pinned.pin_memory() is pinned and pinned[3:].is_pinned()
    assert T.zeros(3, pin_memory=True).is_pinned() and T.rand(3, pin_memory=True).is_pinned()
    assert pinned.tolist() == x.tolist()
    moved = pinned.to("cuda:1", non_blocking=True)
    back = (moved * 2).to("cpu", non_blocking=True)
    cuda.synchronize(1)
    assert back.is_pinned() and back.tolist() == (x * 2).tolist()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        moved.pin_memory()


def test_pinned_memory_waits_for_its_copy() -> None:
    """A source that is dropped right after a copy was ordered is not used for something else before it was read."""
    copies = [T.full((100,), float(i)).pin_memory().to("cuda", non_blocking=True) for i in range(20)]
    assert [each[7].item() for each in copies] == list(range(20))


def test_streams_and_events() -> None:
    side = cuda.Stream()
    assert side != cuda.current_stream() == cuda.default_stream() and side.device == T.device("cuda", 0)
    x = T.ones(1000, device="cuda")
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        assert cuda.current_stream() == side
        y = x * 3
        done = side.record_event()
    x.record_stream(side)
    assert cuda.current_stream() == cuda.default_stream()
    done.wait()
    assert y.sum().item() == 3000 and done.query() and side.query()
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        done.elapsed_time(end)
    with pytest.raises(ValueError, match="must be recorded"):
        cuda.Event(enable_timing=True).elapsed_time(end)


def test_a_kernel_that_spins() -> None:
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    cuda._sleep(20_000_000)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 2  # milliseconds: no GPU's clock makes 10 cycles in a nanosecond


def test_a_stream_brings_its_device() -> None:
    other = cuda.Stream(device=1)
    with cuda.stream(other):
        assert cuda.current_device() == 1 and cuda.current_stream() == other
        with cuda.stream(None):
            assert cuda.current_stream() == other
        x = T.ones(3, device="cuda") + 1
    other.synchronize()
    assert cuda.current_device() == 0 and x.device.index == 1 and x.tolist() == [2, 2, 2]
    assert cuda.current_stream(1) == cuda.default_stream(1)


def test_recorded_memory_is_not_used_again_too_early() -> None:
    side = cuda.Stream()
    for value in range(10):
        x = T.full((1000,), float(value), device="cuda")
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            y = x + 1
        x.record_stream(side)
        del x
        T.full((1000,), -1.0, device="cuda")  # would get the memory of x
        side.synchronize()
        assert y[0].item() == value + 1 and y[999].item() == value + 1


def test_memory_is_counted() -> None:
    cuda.synchronize()
    cuda.reset_peak_memory_stats()
    before = cuda.memory_allocated()
    x = T.empty(1 << 20, device="cuda")
    assert cuda.memory_allocated() - before == 4 << 20 and cuda.memory_reserved() >= cuda.memory_allocated()
    del x
    assert cuda.memory_allocated() == before and cuda.max_memory_allocated() >= before + (4 << 20)
    cuda.empty_cache()
    assert cuda.memory_reserved() < cuda.max_memory_reserved()
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == before
    stats = cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and "GPU 0" in cuda.memory_summary()
    free, total = cuda.mem_get_info()
    assert 0 < free <= total


def test_other_questions_about_memory() -> None:
    x = T.empty(1 << 18, device="cuda:1")
    assert cuda.memory_stats_as_nested_dict(1)["allocated_bytes"]["all"]["current"] == cuda.memory_allocated(1) >= x.nbytes
    assert cuda.device_memory_used(1) == cuda.mem_get_info(1)[1] - cuda.mem_get_info(1)[0] >= x.nbytes
    with pytest.warns(FutureWarning, match="`mpigrad.cuda.memory_cached` has been renamed"):
        assert cuda.memory_cached(1) == cuda.memory_reserved(1)
    with pytest.warns(FutureWarning, match="renamed to `mpigrad.cuda.max_memory_reserved`"):
        assert cuda.max_memory_cached(1) == cuda.max_memory_reserved(1)
    for reset in (cuda.reset_max_memory_allocated, cuda.reset_max_memory_cached):
        with pytest.warns(FutureWarning, match="resets /all/ peak memory stats"):
            reset(1)
    assert cuda.max_memory_allocated(1) == cuda.memory_allocated(1)


def test_a_part_of_the_memory() -> None:
    assert cuda.get_per_process_memory_fraction(1) == 1.0
    try:
        cuda.set_per_process_memory_fraction(0.5, 1)
        assert cuda.get_per_process_memory_fraction(1) == pytest.approx(0.5) and cuda.get_per_process_memory_fraction(0) == 1.0
        with pytest.raises(cuda.OutOfMemoryError):
            T.empty(cuda.mem_get_info(1)[1] * 3 // 4, dtype=T.uint8, device="cuda:1")
        cuda.empty_cache()
        cuda.set_per_process_memory_fraction(0.0, 1)
        with pytest.raises(cuda.OutOfMemoryError):
            T.empty(1 << 20, device="cuda:1")
    finally:
        cuda.set_per_process_memory_fraction(1.0, 1)
    with pytest.raises(ValueError, match="Invalid fraction value"):
        cuda.set_per_process_memory_fraction(1.5)


def test_ranges_for_profilers() -> None:
    assert (cuda.nvtx.range_push("outer"), cuda.nvtx.range_push("inner")) == (0, 1)
    assert (cuda.nvtx.range_pop(), cuda.nvtx.range_pop()) == (1, 0)
    cuda.nvtx.mark("here")
    with cuda.nvtx.range("step {}", 3):
        assert cuda.nvtx.range_push("within") == 1
        cuda.nvtx.range_pop()


def test_a_stream_of_somebody_else() -> None:
    made = cuda.Stream(1)
    same = cuda.get_stream_from_external(made.cuda_stream, 1)
    assert same == made and same.device == T.device("cuda:1")
    with cuda.stream(same):
        assert cuda.current_stream(1) == made


def test_no_memory_left() -> None:
    with pytest.raises(cuda.OutOfMemoryError, match="CUDA out of memory. Tried to allocate 67108864.00 MiB"):
        T.empty(1 << 44, device="cuda")
    assert cuda.OutOfMemoryError is T.OutOfMemoryError and issubclass(T.OutOfMemoryError, RuntimeError)


DRAWS: dict[str, Any] = {
    "rand": lambda place: T.rand(1001, device=place),
    "rand double": lambda place: T.rand(33, dtype=T.float64, device=place),
    "randint": lambda place: T.randint(-5, 90, (77,), device=place),
    "randperm": lambda place: T.randperm(50, device=place),
    "bernoulli": lambda place: T.bernoulli(T.full((99,), 0.3, device=place)),
    "dropout": lambda place: T.nn.functional.dropout(T.ones(99, device=place), 0.4),
    "uniform_": lambda place: T.empty(9, device=place).uniform_(2, 3),
    "random_": lambda place: T.empty(9, device=place).random_(10),
    "multinomial": lambda place: T.multinomial(T.ones(9, device=place), 5),
    "linear": lambda place: T.nn.Linear(3, 4, device=place).weight.detach(),
}


@BOTH
@pytest.mark.parametrize("name", DRAWS)
def test_the_same_seed_draws_the_numbers_of_the_cpu(name: str, place: str) -> None:
    made = []
    for each in ("cpu", place):
        T.manual_seed(11)
        made.append(DRAWS[name](each).cpu())
    assert T.equal(*made)


def test_normal_numbers_differ_from_those_of_the_cpu_by_rounding_only() -> None:
    made = []
    for each in ("cpu", "cuda:1"):
        T.manual_seed(5)
        made.append(T.randn(1000, device=each).cpu())
    assert T.allclose(*made, rtol=1e-5, atol=1e-6)


def test_generators_of_devices() -> None:
    cuda.manual_seed_all(3)
    first, second = T.rand(4, device="cuda:0").cpu(), T.rand(4, device="cuda:1").cpu()
    assert T.equal(first, second) and cuda.initial_seed() == 3
    state = cuda.get_rng_state()
    again = T.rand(4, device="cuda:0")
    cuda.set_rng_state(state)
    assert T.equal(T.rand(4, device="cuda:0"), again) and len(cuda.get_rng_state_all()) == cuda.device_count()
    own = T.Generator(device="cuda:1").manual_seed(3)
    assert T.equal(T.rand(4, device="cuda:1", generator=own).cpu(), first)
    with cuda.device(1):
        cuda.manual_seed(9)
        assert cuda.initial_seed() == 9
    cuda.seed()
    cuda.seed_all()


FILLS: dict[str, Any] = {
    "rand": lambda place, source: T.rand(3, device=place, generator=source),
    "randperm": lambda place, source: T.randperm(3, device=place, generator=source),
    "uniform_": lambda place, source: T.empty(3, device=place).uniform_(generator=source),
    "normal_": lambda place, source: T.empty(3, device=place).normal_(generator=source),
    "random_": lambda place, source: T.empty(3, device=place).random_(5, generator=source),
    "bernoulli": lambda place, source: T.bernoulli(T.ones(3, device=place), generator=source),
    "multinomial": lambda place, source: T.multinomial(T.ones(3, device=place), 2, generator=source),
    "poisson": lambda place, source: T.poisson(T.ones(3, device=place), generator=source),
    "init": lambda place, source: T.nn.init.normal_(T.empty(3, device=place), generator=source),
}


@pytest.mark.parametrize("name", FILLS)
def test_a_generator_fills_tensors_of_its_own_kind_of_device(name: str) -> None:
    for place, other in (("cuda", "cpu"), ("cpu", "cuda")):
        with pytest.raises(RuntimeError, match=f"Expected a '{place}' device type for generator but found '{other}'"):
            FILLS[name](place, T.Generator(other))
        assert FILLS[name](place, T.Generator(place)).device.type == place


def test_saving_and_loading(tmp_path: Any) -> None:
    x = T.arange(6.0, device="cuda:1").reshape(2, 3).t()
    T.save({"x": x}, tmp_path / "file")
    found = T.load(tmp_path / "file")["x"]
    assert found.device.index == 1 and found.tolist() == x.tolist() and found.stride() == x.stride()
    for given, expected in (("cpu", "cpu"), ({"cuda:1": "cuda:0"}, "cuda:0"), (T.device("cuda:0"), "cuda:0")):
        assert str(T.load(tmp_path / "file", map_location=given)["x"].device) == expected


def test_printing() -> None:
    assert repr(T.ones(2, device="cuda:1")) == "tensor([1., 1.], device='cuda:1')"
    assert repr(T.tensor(3, device="cuda")) == "tensor(3, device='cuda:0')"


def test_loading_data_through_pinned_memory() -> None:
    data = T.utils.data.TensorDataset(T.arange(8.0), T.arange(8))
    batches = list(T.utils.data.DataLoader(data, batch_size=4, pin_memory=True))
    assert all(each.is_pinned() for batch in batches for each in batch)
    assert [batch[0].cuda(non_blocking=True).sum().item() for batch in batches] == [6, 22]


def test_training_agrees_with_the_cpu() -> None:
    losses = []
    for place in ("cpu", "cuda:1"):
        T.manual_seed(0)
        net = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.Tanh(), T.nn.Dropout(0.2), T.nn.Linear(8, 3)).to(place)
        x, y = T.randn(16, 4).to(place), T.arange(16).remainder(3).to(place)
        T.manual_seed(1)
        optimizer = T.optim.Adam(net.parameters(), lr=0.05)
        for _ in range(5):
            optimizer.zero_grad()
            loss = T.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
