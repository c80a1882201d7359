"""Which nodes are pure (the same inputs give the same result, and nothing else happens), and which results are views."""

from __future__ import annotations

from .graph import Node

ELEMENTWISE = {
    "add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "abs", "reciprocal", "square",
    "sin", "cos", "tan", "maximum", "minimum", "pow", "remainder", "floor", "ceil", "erf", "expm1", "log1p", "sign", "clamp",
    "eq", "ne", "lt", "le", "gt", "ge", "where", "gelu", "silu", "softplus", "logical_not", "logical_and", "logical_or",
    "true_divide",
    "subtract", "multiply", "divide", "log2", "log10", "atan", "asin", "acos", "sinh", "cosh",
}  # fmt: skip
_OTHERS = {
    "sum", "mean", "prod", "matmul", "mm", "bmm", "mv", "dot", "linear", "softmax", "log_softmax", "logsumexp", "norm",
    "cat", "stack",
    "var", "std", "argmax", "argmin", "amax", "amin", "cumsum", "einsum", "outer", "addmm", "baddbmm", "size", "dim",
    "numel", "len",
    "clone", "mse_loss", "nll_loss", "cross_entropy", "l1_loss", "conv2d", "conv1d", "layer_norm", "embedding",
}  # fmt: skip
_VIEWS = {
    "t", "transpose", "permute", "view", "reshape", "flatten", "squeeze", "unsqueeze", "expand", "select", "slice", "index",
    "narrow", "detach", "unbind", "split", "chunk", "T", "mT", "real", "imag", "data", "contiguous", "to", "float", "double",
    "expand_as", "view_as", "swapaxes", "movedim", "diagonal", "grad",
}  # fmt: skip
CHANGES = ("setitem", "delitem", "setattr")
_PURE_TARGETS = ("constant", "tuple", "named", "list", "dict", "alias")
_BUILTINS = (
    "builtin:len",
    "builtin:int",
    "builtin:float",
    "builtin:bool",
    "builtin:slice",
    "builtin:str",
    "builtin:min",
    "builtin:max",
)


def unqualified_name(node: Node) -> str:
    """The operator's name without its family."""
    return node.op.partition("::")[2]


def is_view(node: Node) -> bool:
    """Whether the result may share memory with an input."""
    return unqualified_name(node) in _VIEWS or node.target in ("alias", "index")


def is_pure(node: Node) -> bool:
    """Whether a node is pure, so that it may be computed once for several uses, or left out if it has none."""
    if node.target in _PURE_TARGETS or node.target in _BUILTINS or node.target.startswith("math:"):
        return True
    if node.target.partition(":")[0] not in ("op", "uop", "fn", "method", "attr", "index", "prim"):
        return False
    name = unqualified_name(node)
    return (
        name in ELEMENTWISE or name in _OTHERS or name in _VIEWS
        or node.target.startswith(("op:", "uop:", "prim:range", "prim:derive"))
        or node.target.startswith("attr:") and name in ("shape", "dtype", "device", "ndim", "requires_grad")
    )  # fmt: skip
