"""Pipeline parallelism: stages of a model on different ranks, with several micro-batches of a batch in flight.

A `PipelineStage` wraps the part of the model that a rank has; a schedule runs micro-batches through all stages, forwards
and backwards. Stages are split by hand; `torch.distributed.pipelining`, which has these names, also has a tracer
(`pipeline`, `SplitPoint`). The stages of a `RemotePipeline` are on RPC workers.
"""

from .remote import RemotePipeline
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .stage import PipelineStage

__all__ = [
    "PipelineStage", "RemotePipeline", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS",
]  # fmt: skip
