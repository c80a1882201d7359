"""Fusion: chains of elementwise operators become one node, which reuses buffers if no gradient is recorded.

If a gradient is recorded, or the operands are not floats of one shape, type and device, the operators run one by one as
written. On the host, arrays larger than the cache are processed in pieces that fit into it; on a GPU a chain
is one generated kernel (`gpu_fusion.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import device_of, on_device
from mpigrad._array.sparse.array import SparseArray
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._ops._define.binary import PLAIN

from .._ir.graph import Block, Graph, Node, Value
from .._ir.pure import is_pure, unqualified_name
from .._ir.types import FLOAT, INT, TENSOR
from .compile import compile_plain
from .gpu_fusion import GpuKernel
from .variants import is_constant, written

PIECE = 1 << 15  # elements: a few operands of this length fit into a second-level cache
LARGE = 1 << 18  # elements: smaller operands and buffers stay in the cache anyway


def _relu(x: Any, out: Any) -> Any:
    return np.maximum(x, 0, out=out)


def _rsqrt(x: Any, out: Any) -> Any:
    made = np.sqrt(x, out)
    return np.reciprocal(made, made)


def _sigmoid(x: Any, out: Any) -> Any:
    made = np.negative(x, out)
    # beyond this exp overflows with a warning; 1 / (1 + exp(88)) is the smallest result either way
    np.minimum(made, made.dtype.type(88.0 if made.dtype.itemsize == 4 else 709.0), out=made)
    np.exp(made, made)
    made += 1
    return np.reciprocal(made, made)


KERNELS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "neg": np.negative, "exp": np.exp,
    "sqrt": np.sqrt, "tanh": np.tanh, "abs": np.absolute, "reciprocal": np.reciprocal, "square": np.square, "sin": np.sin,
    "cos": np.cos, "relu": _relu, "rsqrt": _rsqrt, "sigmoid": _sigmoid,
}  # fmt: skip


def fuse(graph: Graph) -> None:
    """Replace groups of elementwise nodes by one node each, in every block."""
    users: dict[int, set[int]] = {}
    for node in graph.walk():
        for each in node.inputs:
            users.setdefault(id(each), set()).add(id(node))
        for inner in node.blocks:
            for each in inner.outputs:
                # 0 stands for a use outside of all groups
                users.setdefault(id(each), set()).add(0)
    for each in graph.outputs:
        users.setdefault(id(each), set()).add(0)
    _fuse_block(graph, users)


def _fuse_block(block: Block, users: dict[int, set[int]]) -> None:
    for node in block.nodes:
        for inner in node.blocks:
            _fuse_block(inner, users)
    position = len(block.nodes) - 1
    while position >= 0:
        group = _group(block.nodes, position, users)
        if len(group) > 1:
            made = _fused(group)
            at = block.nodes.index(group[-1])
            block.nodes[at] = made
            block.nodes = [node for node in block.nodes if node not in group]
            position = block.nodes.index(made)
        position -= 1


def _fusible(node: Node) -> bool:
    name = unqualified_name(node)
    return (
        name in KERNELS and node.target.partition(":")[0] in ("op", "uop", "fn", "method") and not node.keywords
        and len(node.inputs) == (2 if name in ("add", "sub", "mul", "div") else 1) and node.output.type == TENSOR
        and all(each.type in (TENSOR, INT, FLOAT) for each in node.inputs)
    )  # fmt: skip


def _group(nodes: list[Node], position: int, users: dict[int, set[int]]) -> list[Node]:
    """The nodes that can be fused with the node at `position`: those before it whose results are used only inside the
    group, in order.
    """
    root = nodes[position]
    if not _fusible(root):
        return []
    group, inside = [root], {id(root)}
    for node in reversed(nodes[:position]):
        # an impure node in between may change an operand in place: operators must not move across it
        if not is_pure(node):
            break
        if _fusible(node) and users.get(id(node.output), set()) <= inside:
            group.insert(0, node)
            inside.add(id(node))
    return group


def _fused(group: list[Node]) -> Node:
    made_inside = {id(node.output) for node in group}
    inputs: list[Value] = []
    for node in group:
        for each in node.inputs:
            if id(each) not in made_inside and each not in inputs:
                inputs.append(each)
    root = group[-1]
    made = Node("prim::FusionGroup", inputs, "fused", root.where)
    made.outputs = root.outputs
    made.attributes = {"kernel": Kernel(group, inputs)}
    for output in made.outputs:
        output.node = made
    return made


class Kernel:
    """A group of elementwise operators as one function of tensors and numbers."""

    def __init__(self, group: list[Node], inputs: list[Value]) -> None:
        self.names = [unqualified_name(node) for node in group]
        self.tensors = [number for number, each in enumerate(inputs) if each.type == TENSOR]
        self._plain = _plain(group, inputs)
        self._steps, self._registers = _steps(group, inputs)
        self._run = _written(self._steps, len(inputs), self._registers)
        self._on_gpu = GpuKernel(self.names, self._steps, self.tensors, len(inputs))
        recording = _plain(group, inputs, "if not MODE.enabled: return kernel({given})", MODE=MODE, kernel=self)
        self.fast = _fast(self, recording, self._steps, inputs)

    def __repr__(self) -> str:
        return "+".join(self.names)

    def __call__(self, *args: Any) -> Any:
        if MODE.enabled:
            for number in self.tensors:
                if args[number]._requires:
                    return self._plain(*args)
        first = args[self.tensors[0]]._array
        kept = first.__class__
        # zero-dimensional tensors promote types differently, and watchers want to see single operators
        if not first.ndim or first.dtype.char not in "fd" or TRACING.on or MODE.inference or kept is SparseArray:
            return self._plain(*args)
        values: list[Any] = list(args)
        shape, kind = first.shape, first.dtype
        for number in self.tensors:
            tensor = args[number]
            array = values[number] = tensor._array
            if array is not first and (array.__class__ is not kept or array.shape != shape or array.dtype != kind):
                return self._plain(*args)
            if tensor.__class__ not in PLAIN:
                return self._plain(*args)
        if kept is not np.ndarray:
            return self._run_on_gpu(args, values, first)
        if first.size < LARGE:
            return wrap(self._run(*values))
        return wrap(self._run_in_pieces(values, shape, kind))

    def _run_on_gpu(self, args: tuple[Any, ...], values: list[Any], first: Any) -> Any:
        place = device_of(first)
        if any(device_of(values[number]) != place for number in self.tensors):
            return self._plain(*args)  # the operators raise the right error
        with on_device(place):
            return wrap(self._on_gpu(values))

    def _run_in_pieces(self, values: list[Any], shape: Any, kind: Any) -> Any:
        for number in self.tensors:
            if not values[number].flags.c_contiguous:
                return self._run(*values)
            values[number] = values[number].reshape(-1)
        result = np.empty(shape, kind)
        flat = result.reshape(-1)
        buffers = [np.empty(PIECE, kind) for _ in range(self._registers)]
        last = self._steps[-1][2]
        piece = list(values)
        for start in range(0, flat.size, PIECE):
            end = min(start + PIECE, flat.size)
            for number in self.tensors:
                piece[number] = values[number][start:end]
            registers = buffers if end - start == PIECE else [each[: end - start] for each in buffers]
            registers = list(registers)
            # the last step writes directly into the result
            registers[last] = flat[start:end]
            self._run(*piece, *registers)
        return result


def _plain(group: list[Node], inputs: list[Value], head: str = "", **uses: Any) -> Any:
    """A function that runs the operators one by one; `head` is its first statement."""
    graph = Graph("fused")
    graph.inputs = inputs
    graph.nodes = [each.node for each in inputs if each.node is not None and each.node.op == "prim::Constant"]
    graph.nodes += group
    graph.outputs = [group[-1].output]
    return compile_plain(graph, head, **uses)


def _steps(group: list[Node], inputs: list[Value]) -> tuple[list[Any], int]:
    """For each operator its function, its operands and the register (buffer) of its result; and the number of registers."""
    places: dict[int, tuple[bool, int]] = {id(each): (False, number) for number, each in enumerate(inputs)}
    last_use = {id(each): number for number, node in enumerate(group) for each in node.inputs}
    free: list[int] = []
    count = 0
    steps = []
    for number, node in enumerate(group):
        sources = [places[id(each)] for each in node.inputs]
        dying = {places[id(each)][1] for each in node.inputs if places[id(each)][0] and last_use[id(each)] == number}
        free += sorted(dying)
        if free:
            target = free.pop()
        else:
            target, count = count, count + 1
        places[id(node.output)] = (True, target)
        steps.append((KERNELS[unqualified_name(node)], sources, target))
    return steps, count


def _fast(kernel: Kernel, recording: Any, steps: list[Any], inputs: list[Value]) -> Any:
    """A function that runs the steps on small arrays, without the checks of `kernel`; it calls `kernel` for all others."""
    numbers = {place: value for place, each in enumerate(inputs) if is_constant(value := each.constant)}
    lines, made = [], set()
    for number, (_, sources, target) in enumerate(steps):
        operands = [f"r{place}" if inside else f"a{place}" if inputs[place].type == TENSOR or place in numbers else f"x{place}"
                    for inside, place in sources]  # fmt: skip
        lines.append(f"r{target} = f{number}({', '.join(operands)}, {f'r{target}' if target in made else None})")
        made.add(target)
    lines.append(f"out = r{steps[-1][2]}")
    uses = {f"f{number}": step[0] for number, step in enumerate(steps)}
    fit = f"a{kernel.tensors[0]}.ndim and a{kernel.tensors[0]}.size < {LARGE}"
    return written(len(inputs), kernel.tensors, lines, kernel, uses, numbers=numbers, also=fit, recording=recording)


def _written(steps: list[Any], inputs: int, registers: int) -> Any:
    """A function that runs the steps. Its arguments are the operands, then for each register the array for its result.

    Registers that are left out, or None, get new arrays.
    """
    space = {f"f{number}": step[0] for number, step in enumerate(steps)}
    names = [f"x{number}" for number in range(inputs)] + [f"r{number}=None" for number in range(registers)]
    lines = [f"def run({', '.join(names)}):"]
    for number, (_, sources, target) in enumerate(steps):
        operands = ", ".join(f"{'r' if inside else 'x'}{place}" for inside, place in sources)
        lines.append(f"    r{target} = f{number}({operands}, r{target})")
    exec("\n".join([*lines, f"    return r{steps[-1][2]}"]), space)
    return space["run"]
