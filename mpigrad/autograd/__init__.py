"""Automatic differentiation: backward passes, custom functions with derivatives, checks of gradients."""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

from .gradcheck import gradcheck, gradgradcheck  # not late: it is also the name of the module

if TYPE_CHECKING:
    from .._graph.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
    from . import anomaly_mode, function, functional, grad_mode, graph, profiler, variable
    from ._backward import backward, grad
    from ._multithreading import set_multithreading_enabled
    from .anomaly_mode import detect_anomaly, set_detect_anomaly
    from .function import Function
    from .variable import Variable
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Function",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
