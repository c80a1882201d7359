"""The methods of modules that a remote module does not support, because the module is on another worker (as in PyTorch)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

REFUSED = (
    "_apply", "add_module", "apply", "bfloat16", "buffers", "children", "cpu", "cuda", "double", "extra_repr", "float", "half",
    "ipu", "modules",
    "named_buffers", "named_children", "named_parameters", "parameters", "register_backward_hook", "register_buffer",
    "register_forward_hook", "register_forward_pre_hook", "register_module", "register_parameter", "requires_grad_",
    "share_memory", "to", "to_empty", "type", "xpu", "zero_grad",
)  # fmt: skip


def refusal(name: str) -> Callable[..., NoReturn]:
    """Return a method called `name` that raises PyTorch's ValueError for an unsupported method."""
    said = f"Method ``{name}`` not supported for RemoteModule"
    if name == "parameters":
        said += ". Please use ``remote_parameters`` instead."

    def refused(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(said)

    refused.__name__ = name
    return refused
