"""Schedules of the learning rate: call `scheduler.step()` after each `optimizer.step()` or each epoch, as the
schedule counts.

All have the argument `last_epoch`: the number of steps already done, to resume a run; -1 (default) starts anew.
"""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._base import LRScheduler
    from ._base import LRScheduler as _LRScheduler
    from ._combined import ChainedScheduler, SequentialLR
    from ._cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
    from ._cycles import CyclicLR, OneCycleLR
    from ._decay import (
        ConstantLR,
        ExponentialLR,
        LambdaLR,
        LinearLR,
        MultiplicativeLR,
        MultiStepLR,
        PolynomialLR,
        StepLR,
    )
    from ._plateau import ReduceLROnPlateau
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
