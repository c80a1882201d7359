"""`AdamW` under PyTorch's module path."""

from .adam import AdamW

__all__ = ["AdamW"]
