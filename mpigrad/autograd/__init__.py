"""Automatic differentiation: backward passes, custom functions with derivatives, checks of gradients."""

from .._graph.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import _hooks, anomaly_mode, function, functional, grad_mode, graph, profiler, variable
from ._backward import backward, grad
from ._multithreading import set_multithreading_enabled
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

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
