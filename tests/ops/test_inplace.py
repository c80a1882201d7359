"""Views and in-place changes: what must stay right when memory is shared, and what is refused."""

from __future__ import annotations

import gc
import weakref

import pytest

import mpigrad

ONE_OF_SEVERAL = "This view is the output of a function that returns multiple views"


def leaf(*shape: int) -> mpigrad.Tensor:
    return mpigrad.arange(1.0, 1.0 + mpigrad.Size(shape).numel()).reshape(shape).clone().requires_grad_()


def test_views_share_memory_and_version_with_their_base() -> None:
    x = mpigrad.zeros(2, 3)
    row, column = x[0], x.t()[1]
    row.fill_(1)
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]] and column.tolist() == [1, 0]
    assert x._version == row._version == column._version == 1
    assert row._base is x and column._base is x


def test_a_base_that_begins_to_need_gradients_tells_its_views() -> None:
    x, w = mpigrad.ones(2, 3), leaf(3)
    row, late = x[0], x[1:]
    assert not row.requires_grad
    x.mul_(w)
    assert row.requires_grad and not row.is_leaf and row.grad_fn.name() == "AsStridedBackward0"
    (row * late).sum().backward()
    assert w.grad.tolist() == [2, 4, 6]


def test_a_changed_view_passes_its_history_to_base_and_siblings() -> None:
    x, w = mpigrad.ones(2, 3), leaf(3)
    row, same, other = x[0], x[0], x[1]
    row.mul_(w)
    assert x.grad_fn.name() == "torch::autograd::CopySlices"
    assert same.requires_grad and other.requires_grad
    (same.sum() * 2 + other.sum()).backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_views_survive_a_transposition_of_their_base_in_place() -> None:
    x = leaf(2, 3)
    base = x * 1
    row = base[0]
    base.t_()
    assert base.shape == (3, 2) and row.tolist() == [1, 2, 3]
    row.mul_(10)
    assert base.tolist() == [[10, 4], [20, 5], [30, 6]]
    base.sum().backward()
    assert x.grad.tolist() == [[10, 10, 10], [1, 1, 1]]


def test_a_reshaped_detached_twin_leaves_views_alone() -> None:
    x = leaf(2, 3) * 1
    row, twin = x[..., ::2], x.detach()
    twin.t_()
    assert twin.shape == (3, 2) and x.shape == (2, 3) and row.shape == (2, 2)
    assert row.grad_fn is not None


@pytest.mark.host
def test_views_of_transposed_memory_can_be_changed() -> None:
    x = leaf(2, 3)
    base = (x.t() * 1.0).clone()
    flat = base.t().reshape(-1)
    flat[1:3].mul_(2)
    base.sum().backward()
    assert not base.is_contiguous() and flat._base is base
    assert x.grad.tolist() == [[1, 2, 2], [1, 1, 1]]


def test_old_elements_that_were_saved_stay_right() -> None:
    x, w = mpigrad.tensor([2.0, 3.0]), leaf(2)
    x.mul_(w)  # the gradient of w needs x as it was
    x.sum().backward()
    assert w.grad.tolist() == [2, 3]


def test_an_in_place_result_is_saved_once() -> None:
    x = leaf(3) * 1
    x.exp_()
    (saved,) = x.grad_fn.saved
    assert saved._array is x._array


def test_changes_of_saved_results_are_noticed() -> None:
    x = leaf(3)
    y = x.exp()
    y[0] = 1
    with pytest.raises(
        RuntimeError, match="modified by an inplace operation.*output 0 of Exp, is at version 1; expected version 0"
    ):
        y.sum().backward()


def test_nan_in_the_gradient_of_what_was_overwritten_goes_nowhere() -> None:
    x = leaf(2)
    y = x * 1
    y.fill_(0)
    y.backward(mpigrad.tensor([float("nan"), 1.0]))
    assert x.grad.tolist() == [0, 0]


@pytest.mark.parametrize("change", ["add_", "setitem", "t_", "zero_", "masked"])
def test_leaves_and_their_views_are_refused(change: str) -> None:
    def run(tensor: mpigrad.Tensor) -> None:
        if change == "setitem":
            tensor[0, 0] = 1
        elif change == "masked":
            tensor[mpigrad.tensor([[True, False]])] = 1.0
        else:
            getattr(tensor, change)(*((1,) if change == "add_" else ()))

    with pytest.raises(
        RuntimeError, match="a (view of a )?leaf Variable that requires grad is being used in an in-place"
    ):
        run(leaf(1, 2))
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        run(leaf(2, 2)[:1])
    with mpigrad.no_grad():
        run(leaf(1, 2))


def test_one_of_several_views_is_refused() -> None:
    x = leaf(2, 3) * 1
    first, _ = x.unbind()
    with pytest.raises(
        RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace. " + ONE_OF_SEVERAL
    ):
        first.mul_(2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        _ = first.grad_fn
    plain, _ = mpigrad.ones(2, 3).split(1)
    plain.mul_(2)
    with pytest.raises(RuntimeError, match=ONE_OF_SEVERAL):
        plain.mul_(leaf(3))
    assert plain.tolist() == [[2, 2, 2]]


def test_views_made_unrecorded_are_refused_later() -> None:
    x = leaf(2, 3) * 1
    with mpigrad.no_grad():
        row = x[0]
        row.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        row.mul_(2)


def test_stretched_tensors_cannot_be_written_to_but_parts_can() -> None:
    x = mpigrad.zeros(1, 3).expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        x.add_(1)
    x[0].add_(1)
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_views_are_forgotten_when_dropped() -> None:
    x = mpigrad.zeros(4)
    for _ in range(100):
        x[0]
    kept = x[1]
    assert len(x._counter[1]) == 1
    reference = weakref.ref(kept)
    del kept
    gc.collect()
    assert reference() is None and not x._counter[1]


def test_steps_of_many_views_and_changes_add_up() -> None:
    x = leaf(4)
    y = x * 1
    for _ in range(200):
        y[1:3].mul_(1.01)
        y.view(2, 2)[0].add_(y[3])
    y.sum().backward()
    assert x.grad[1].item() == pytest.approx(1.01**200, rel=1e-4) and x.grad[0].item() == 1
