"""The settings of optimizers and PyTorch's checks of them."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor

Group = dict[str, Any]  # a parameter group: parameters and their settings


def number(value: Any) -> float:
    """A setting as a Python number; it may be given as a tensor."""
    return float(value._array.reshape(())) if isinstance(value, Tensor) else value


def check_settings(**settings: Any) -> None:
    """Raise PyTorch's ValueError for negative settings; in the message `lr` is called `learning rate` and `eps` `epsilon value`.
    """
    for name, value in settings.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")
        if not number(value) >= 0.0:
            shown = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {shown}: {value}")


def check_together(settings: Group) -> None:
    """Raise PyTorch's RuntimeError for combinations of `foreach`, `fused` and other implementations that exclude each other."""
    if settings.get("fused"):
        if settings.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if settings.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_tensors(lr: Any, betas: tuple[Any, Any], foreach: bool | None, capturable: bool) -> None:
    """Raise PyTorch's ValueError for settings of Adam that are tensors where numbers are required."""
    if foreach and not capturable:
        for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
            if isinstance(value, Tensor):
                raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Raise PyTorch's ValueError for betas outside of [0, 1)."""
    for place, beta in enumerate(betas):
        if not 0.0 <= number(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
