"""Function transforms with the API of `torch.func`: gradients, Jacobians and `vmap`."""

from ._calls import functional_call
from ._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from ._vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
