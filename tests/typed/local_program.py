"""A user's program as type checkers see it: tensors, functions, modules. Each line states its type; nothing here is run.

What must be refused carries a `type: ignore` comment, and both checkers report such a comment where it is not needed.
"""

from typing_extensions import assert_type

import mpigrad
import mpigrad.nn.functional as F
from mpigrad import Size, Tensor, nn, optim, return_types
from mpigrad.autograd import grad

x = mpigrad.ones(2, 3, requires_grad=True)
assert_type(x, Tensor)

# operators
assert_type(x + 1, Tensor)
assert_type(1.0 - x, Tensor)
assert_type(2 / x, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(-x, Tensor)
assert_type(x == 1, Tensor)
assert_type(x < x, Tensor)
assert_type(x[0, 1:], Tensor)
x += 1
x + "one"  # type: ignore
x @ None  # type: ignore

# properties and methods
assert_type(x.shape, Size)
assert_type(x.shape[0], int)
assert_type(x.shape[1:], Size)
assert_type(x.size(), Size)
assert_type(x.size(0), int)
assert_type(x.dtype, mpigrad.dtype)
assert_type(x.device, mpigrad.device)
assert_type(x.grad, "Tensor | None")
assert_type(x.sum(), Tensor)
assert_type(x.sum(dim=(0, 1)), Tensor)
assert_type(x.view(3, 2), Tensor)
assert_type(x.reshape(-1).exp().clamp(min=0), Tensor)
assert_type(x.to(mpigrad.float64), Tensor)
assert_type(x.max(), Tensor)
assert_type(x.max(dim=1), return_types.max)
assert_type(x.max(dim=1).indices, Tensor)
assert_type(x.sort().values, Tensor)
assert_type(x.nonzero(), Tensor)
assert_type(x.nonzero(as_tuple=True), "tuple[Tensor, ...]")
assert_type(x.item(), "int | float | bool")
assert_type(x.numel(), int)
assert_type(x.zero_(), Tensor)
assert_type(len(x), int)
assert_type([row.sum() for row in x], "list[Tensor]")
x.backward()
x.sum().backward(retain_graph=True)
x.no_such_method()  # type: ignore
x.sum(dim="rows")  # type: ignore

# functions
assert_type(mpigrad.exp(x), Tensor)
assert_type(mpigrad.cat([x, x], dim=1), Tensor)
assert_type(mpigrad.tensor([1.0], dtype=mpigrad.float32), Tensor)
assert_type(mpigrad.max(x, 0).values, Tensor)
assert_type(mpigrad.where(x > 0, x, 0.0), Tensor)
assert_type(mpigrad.special.expit(x), Tensor)
assert_type(mpigrad.linalg.inv(x), Tensor)
assert_type(F.relu(x), Tensor)
assert_type(F.cross_entropy(x, mpigrad.zeros(2, dtype=mpigrad.long)), Tensor)
assert_type(F.max_pool2d(x, 2), Tensor)
assert_type(F.max_pool2d(x, 2, return_indices=True), "tuple[Tensor, Tensor]")
mpigrad.ones("two")  # type: ignore


# modules, optimizers, gradients
class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        self.scale = nn.Parameter(mpigrad.ones(1))

    def forward(self, batch: Tensor) -> Tensor:
        return F.relu(self.layers(batch)) * self.scale


model = Model()
assert_type(model.scale, nn.Parameter)
optimizer = optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
with mpigrad.no_grad():
    model.scale += 1
    assert_type(model.scale, nn.Parameter)
    assert_type(model.scale.mul_(2), nn.Parameter)
assert_type(grad(x.sum(), x), "tuple[Tensor, ...]")
