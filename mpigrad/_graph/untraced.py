"""Measuring undisturbed: no debugger, profiler or coverage of this thread sees what runs, since they may hold what they see."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TOOLS = range(6)  # ids that `sys.monitoring` knows


@contextmanager
def untraced() -> Iterator[None]:
    """Run without trace and profile functions. One that looks at a frame's locals makes the frame hold them twice."""
    trace, profile, monitored = sys.gettrace(), sys.getprofile(), _stop_monitoring()
    sys.settrace(None)
    sys.setprofile(None)
    try:
        yield
    finally:
        for tool, events in monitored.items():
            sys.monitoring.set_events(tool, events)  # type: ignore[attr-defined,unused-ignore]
        sys.setprofile(profile)
        sys.settrace(trace)


def _stop_monitoring() -> dict[int, int]:
    """Switch the events of all tools off (Python 3.12 and later); which were on."""
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return {}
    found = {tool: monitoring.get_events(tool) for tool in _TOOLS if monitoring.get_tool(tool) is not None}
    for tool in found:
        monitoring.set_events(tool, 0)
    return found
