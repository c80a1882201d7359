"""Where tensors of torch and of mpigrad meet."""

from __future__ import annotations

import pytest

import mpigrad

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("meet", [
    lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a @ b, lambda a, b: b @ a, lambda a, b: a < b, lambda a, b: b**a,
    lambda a, b: mpigrad.mul(b, a), lambda a, b: mpigrad.matmul(a, b), lambda a, b: mpigrad.exp(a),
    lambda a, b: mpigrad.cat([b, a]), lambda a, b: b.index_select(0, a), lambda a, b: b.gather(0, a), lambda a, b: b.take(a),
])  # fmt: skip
def test_where_tensors_of_both_meet_the_error_says_whose_they_are_and_what_to_do(meet) -> None:
    with pytest.raises(TypeError, match=r"torch\.Tensor[;:] convert with mpigrad\.from_dlpack\(x\)"):
        meet(torch.ones(2), mpigrad.ones(2))
    assert (mpigrad.ones(2) == torch.ones(2)) is False  # as with any other object


def test_tensors_of_torch_are_indices_as_numpy_arrays_are() -> None:
    x = mpigrad.arange(12).reshape(3, 4)
    rows, mask = torch.tensor([0, 2]), torch.tensor([True, False, True])
    assert x[rows].tolist() == x[mask].tolist() == x[[0, 2]].tolist()
    assert x[:, rows].tolist() == x[:, [0, 2]].tolist() and x[torch.tensor(1)].tolist() == x[1].tolist()
    x[rows] = 0
    assert x.sum().item() == 22
    with pytest.raises(IndexError, match="tensors used as indices must be"):
        x[torch.tensor([0.5])]
