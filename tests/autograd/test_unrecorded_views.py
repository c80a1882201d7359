"""Views without `grad_fn`, created under `no_grad` or in inference mode, or before their base required grad: they say that they
require grad if their base does, gradients end at them, and recorded changes of them are refused."""

from __future__ import annotations

import pytest

import mpigrad

MODES = {"no_grad": mpigrad.no_grad, "inference": mpigrad.inference_mode}
VIEWS = {
    "part": lambda x: x[0],
    "slice": lambda x: x[:1],
    "shape": lambda x: x.view(3, 2),
    "transposed": lambda x: x.t(),
    "one of several": lambda x: x.unbind()[0],
    "stretched": lambda x: x.unsqueeze(0).expand(2, 2, 3),
    "view of a view": lambda x: x.view(6)[1:3],
}


def base(kind: str):
    x = mpigrad.arange(6.0).view(2, 3).clone().requires_grad_(kind != "plain")
    return x * 1 if kind == "computed" else x


@pytest.fixture(params=MODES)
def mode(request) -> str:
    return request.param


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["leaf", "computed"])
def test_they_require_grad_and_gradients_end_at_them(mode: str, kind: str, view) -> None:
    x = base(kind)
    with MODES[mode]():
        part = view(x)
    assert part.requires_grad and part.is_leaf and part.grad_fn is None and not part.is_inference()
    made = (part * 2).sum()
    assert made.requires_grad and made.grad_fn.next_functions[0][0].next_functions == ((None, 0), (None, 0))
    made.backward()
    part.sum().backward()
    assert part.grad is None and (kind == "computed" or x.grad is None)
    assert mpigrad.autograd.grad((part * part).sum(), [part], allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        part.backward(mpigrad.ones_like(part))


def test_gradients_of_others_are_right() -> None:
    x = mpigrad.tensor([2.0, 3.0], requires_grad=True)
    with mpigrad.no_grad():
        constant = x[:1]
    (constant * x).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("kind", ["leaf", "computed"])
def test_recorded_changes_are_refused(mode: str, kind: str) -> None:
    words = {"no_grad": "no_grad mode and is being modified inplace with grad mode enabled",
             "inference": "inference mode and is being modified inplace in normal mode"}[mode]  # fmt: skip
    x = base(kind)
    with MODES[mode]():
        part = x[0]
    with pytest.raises(RuntimeError, match=f"^A view was created in {words}. Given that"):
        part.mul_(2)
    with pytest.raises(RuntimeError, match=f"^Output 0 of Slice is a view of a view which was created in {words}"):
        part[1:].mul_(2)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("which", ["view", "base"])
def test_after_a_change_they_have_no_history(mode: str, which: str) -> None:
    x = base("computed")
    with MODES[mode]():
        part = x[0]
    with mpigrad.no_grad():
        (part if which == "view" else x).mul_(2)
    assert part.requires_grad and part.tolist() == [0, 2, 4]
    assert repr(part).startswith("tensor([0., 2., 4.], ") and repr(part).endswith("grad_fn=<Invalid>)")
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        part * 2


def test_they_follow_their_base() -> None:
    x = base("plain")
    part = x[0]
    assert not part.requires_grad
    x.requires_grad_()
    assert part.requires_grad and part.is_leaf
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        part.mul_(2)
    assert part.requires_grad_(False).requires_grad
    x.requires_grad_(False)
    assert not part.requires_grad
    part.mul_(2)
    assert x[0].tolist() == [0, 2, 4]


def test_a_view_that_asks_for_its_gradient_gets_it() -> None:
    x = base("leaf")
    with mpigrad.no_grad():
        part = x[0].requires_grad_()
    (part * 3).sum().backward()
    assert part.grad.tolist() == [3, 3, 3] and x.grad is None


def test_functions_may_return_views_that_are_not_differentiable() -> None:
    class First(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            part = x[0]
            ctx.mark_non_differentiable(part)
            return part

        @staticmethod
        def backward(ctx, grad):
            raise AssertionError

    for kind in ("leaf", "plain"):
        part = First.apply(base(kind))
        assert part.tolist() == [0, 1, 2] and part.requires_grad == (kind == "leaf") and part.grad_fn is None


def test_stretched_views_are_not_written_to_unrecorded() -> None:
    with mpigrad.no_grad():
        x = mpigrad.ones(1, 3).expand(2, 3)
        for change in (lambda: x.mul_(2), lambda: x.add_(x), lambda: x.div_(2.0)):
            with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
                change()
        assert x[:1].mul_(2).tolist() == [[2, 2, 2]]


def test_numpy_is_given_where_nothing_is_recorded() -> None:
    x = base("leaf")
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()
    with mpigrad.no_grad():
        assert x.numpy().tolist() == x.tolist()
