"""Completes a collective on the CUDA streams that were current when it started, whichever thread completes it."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import device, device_count

from .._gpu.streams import Streams


def finish_on_streams(work: Any) -> None:
    """Make `work` copy its result into its tensors on the streams that are current now.

    The current streams of a thread that waits for `work` then wait for these copies.
    """
    streams = Streams.current([device("cuda", index) for index in range(device_count())])
    finish = work._finish

    def finishing(ended: Any) -> Any:
        with streams.acting():
            result = finish(ended)
        marks = streams.record()
        work._on_taking = lambda: Streams.wait_for(marks)
        return result

    work._finish = finishing
