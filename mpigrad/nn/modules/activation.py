"""Activation functions as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._tensor import Tensor
from .. import functional as F
from ..parameter import Parameter
from ._blank import blank
from .attention import MultiheadAttention
from .module import Module


class _Plain(Module):
    """Base class of activations without arguments."""

    function: ClassVar[str]

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input)


class _InPlace(Module):
    """Base class of activations whose only argument is `inplace`: whether they overwrite their input."""

    function: ClassVar[str]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """Replace negative elements by 0: max(0, x). With `inplace=True` the result overwrites `input`."""

    function = "relu"

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=True) if self.inplace else F.relu(input)


class ReLU6(_InPlace):
    """Limit elements to the range from 0 to 6: min(max(0, x), 6). With `inplace=True` the result overwrites `input`."""

    function = "relu6"


class SELU(_InPlace):
    """The self-normalising exponential linear unit: 1.0507 * x above zero, 1.0507 * 1.6733 * (exp(x) - 1) below. With
    `inplace=True` the result overwrites `input`.
    """

    function = "selu"


class SiLU(_InPlace):
    """x * sigmoid(x) for each element x (also called swish). With `inplace=True` the result overwrites `input`."""

    function = "silu"


class Mish(_InPlace):
    """x * tanh(softplus(x)) for each element x. With `inplace=True` the result overwrites `input`."""

    function = "mish"


class Hardsigmoid(_InPlace):
    """A piecewise linear sigmoid: 0 below -3, 1 above 3, x / 6 + 1 / 2 between. With `inplace=True` the result
    overwrites `input`.
    """

    function = "hardsigmoid"

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace):
    """x * hardsigmoid(x): an approximation of `SiLU` without exponentials. With `inplace=True` the result overwrites
    `input`.
    """

    function = "hardswish"

    def extra_repr(self) -> str:
        return ""


class Sigmoid(_Plain):
    """1 / (1 + exp(-x)) for each element x."""

    function = "sigmoid"

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(_Plain):
    """The hyperbolic tangent of each element."""

    function = "tanh"

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(_Plain):
    """log(1 / (1 + exp(-x))) for each element x, computed without overflow."""

    function = "logsigmoid"


class Softsign(_Plain):
    """x / (1 + |x|) for each element x: a function from -1 to 1, like tanh."""

    function = "softsign"


class Tanhshrink(_Plain):
    """x - tanh(x) for each element x."""

    function = "tanhshrink"


class ELU(Module):
    """x above zero, alpha * (exp(x) - 1) below. With `inplace=True` the result overwrites `input`."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """x above zero, alpha * (exp(x / alpha) - 1) below. With `inplace=True` the result overwrites `input`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class GELU(Module):
    """x times the cumulative distribution function of the standard normal distribution at x.

    `approximate="tanh"` uses an approximation by tanh; the default "none" is exact.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The gated linear unit: cut the input in two halves a and b along `dim` (default: the last one), and return a *
    sigmoid(b).
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Threshold(Module):
    """Keep elements larger than `threshold` and replace the others by `value`. With `inplace=True` the result
    overwrites `input`.
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    """Limit elements to the range from `min_val` (default: -1) to `max_val` (default: 1). With `inplace=True` the
    result overwrites `input`.

    `min_value` and `max_value` are deprecated names of the limits.
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise ValueError(f"max_val must be larger than min_val, got {self.max_val} and {self.min_val}")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class LeakyReLU(Module):
    """Keep positive elements and multiply the others by `negative_slope`. With `inplace=True` the result overwrites
    `input`.
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """Keep positive elements and multiply the others by a slope.

    In training each element gets a random slope, uniform in [`lower`, `upper`]; in evaluation the slope is their
    mean. With `inplace=True` the result overwrites `input`.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """Keep positive elements and multiply the others by a learned slope, the parameter `weight`.

    `num_parameters`: 1 (default) for one slope, or the number of channels (dimension 1) for a slope each. `init`: the first
    value. `device`, `dtype`: those of the parameters.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(blank(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to `init`, the value given to the constructor."""
        self.weight._array[...] = self.init

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, a smooth ReLU; where beta * x is above `threshold`, x itself."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """Move each element towards zero by `lambd`; elements with |x| <= `lambd` become 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(Softshrink):
    """Set elements with |x| <= `lambd` to 0 and keep the others."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softmax(Module):
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`, so that the results along `dim` add up
    to 1.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.Softmax(dim=0)(mpigrad.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """The logarithm of `Softmax(dim)`, computed without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(Softmax):
    """`Softmax(dim)` of -x: the smallest element gets the largest probability."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of images (batch, channels, height, width) or (channels, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]
