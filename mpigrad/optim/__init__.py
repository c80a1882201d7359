"""Optimizers, and schedules of their learning rates.

All optimizers share the arguments `params`, `lr`, `weight_decay`, `maximize` and others, which `Optimizer` explains.
"""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from . import lr_scheduler
    from .adadelta import Adadelta
    from .adagrad import Adagrad
    from .adam import Adam, AdamW
    from .adamax import Adamax
    from .asgd import ASGD
    from .lbfgs import LBFGS
    from .nadam import NAdam
    from .optimizer import Optimizer
    from .radam import RAdam
    from .rmsprop import RMSprop
    from .rprop import Rprop
    from .sgd import SGD
    from .sparse_adam import SparseAdam
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
]
