"""PyTorch's `torch.classes`: classes that annotations in scripted code name. Only the profiler's block exists here."""

from __future__ import annotations

from .autograd.profiler import record_function


class profiler:
    """The classes of the profiler, for annotations in scripted code."""

    _RecordFunction = record_function
