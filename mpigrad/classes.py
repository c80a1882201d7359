"""PyTorch's `torch.classes`: classes that annotations in scripted code name. There is only that of the profiler's blocks."""

from __future__ import annotations

from .autograd.profiler import record_function


class profiler:
    """The classes of the profiler's blocks, for annotations in scripted code, as in `torch.classes.profiler`."""

    _RecordFunction = record_function
