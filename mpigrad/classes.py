"""Classes of PyTorch's own libraries by namespace, which annotations of scripts name: the profiler's block."""

from __future__ import annotations

from .autograd.profiler import record_function


class profiler:
    """The profiler's classes."""

    _RecordFunction = record_function
