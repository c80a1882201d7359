"""`no_grad`, `enable_grad` and other modes that decide whether operations are recorded, under PyTorch's module path."""

from .._graph.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._multithreading import set_multithreading_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
