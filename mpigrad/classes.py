"""The counterpart of `torch.classes`, for annotations in scripted code; it has one class only, that of the profiler's blocks."""

from __future__ import annotations

from .autograd.profiler import record_function


class profiler:
    """The classes of the profiler's blocks, for annotations in scripted code, as in `torch.classes.profiler`."""

    _RecordFunction = record_function
