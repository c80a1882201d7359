"""`draw`: the graph of a context on all of its workers, as DOT text or as a picture.

The drawing worker asks its known workers for their share of the graph, then the workers that these know, until there is no new
one. The calls are made outside the context, because calls inside it would be recorded and change the graph.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from mpigrad._core.autograd.contexts import DistAutogradContext, Running, this_worker
from mpigrad._core.autograd.graph import RecvRpcBackward, SendRpcBackward

from ..._core.node import AccumulateGrad, Node, edge_of
from ..._tensor import Tensor
from ...nn.modules.module import Module
from ..rpc.api import rpc_async

_STYLE = """\
  rankdir=LR; newrank=true; fontname="Helvetica"; bgcolor="white"; nodesep=0.2; ranksep=0.3;
  node [shape=box, style="rounded,filled", fillcolor=white, color="#9aa5b1", fontname="Helvetica", fontsize=11];
  edge [color="#52606d", arrowsize=0.7, fontname="Helvetica", fontsize=9, fontcolor="#ba2525"];"""
_FILL = {"send": "#ffe3d3", "recv": "#d9e8fb", "leaf": "#dff5e1", "operation": "white"}


class Share(NamedTuple):
    """The part of the graph on one worker. Nodes are numbers; messages are known by their autograd message id."""

    rank: int
    name: str
    nodes: list[tuple[str, str]]  # (kind, label)
    edges: list[tuple[int, int]]
    sends: dict[int, int]  # message -> node
    recvs: dict[int, tuple[int, int]]  # message -> (node, the rank that sent it)
    known: set[int]


class Drawing(str):
    """The DOT text of a graph, a string; a notebook shows it as a picture, rendered by Graphviz's program `dot`."""

    def _repr_svg_(self) -> str | None:
        try:
            return _rendered(self, "svg", "a picture in the notebook").decode()
        except RuntimeError as error:  # the notebook shows the text
            warnings.warn(str(error), stacklevel=2)
            return None


def draw(context_id: int, path: str | os.PathLike[str] | None = None, roots: Sequence[Tensor] = ()) -> Drawing:
    """Draw the graph of a context on all of its workers; returns it as DOT text, which notebooks show as a picture.

    An addition to PyTorch. There is one box per worker; arrows point in the direction of gradients, red ones from worker
    to worker. Parameters of modules have their names.

    Args:
        context_id: the value of `with context() as context_id`.
        path: a file to write: DOT for a name that ends in .dot or .gv; .svg, .pdf and .png are rendered with Graphviz's
            program `dot`.
        roots: tensors of this worker whose graph is drawn, too. Roots of earlier backward passes need not be given. Before
            the first pass, give the loss: without it only the graph below sent tensors is drawn.

    Raises:
        RuntimeError: the context is unknown, a root does not require grad, or Graphviz is missing.

    >>> import mpigrad, mpigrad.distributed.autograd as dist_autograd, mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> with dist_autograd.context() as context_id:
    ...     x = mpigrad.ones(3, requires_grad=True)
    ...     loss = (x * x).sum()
    ...     "SumBackward0" in dist_autograd.draw(context_id, roots=[loss])
    True
    >>> rpc.shutdown()
    """
    this_worker().container.retrieve(context_id)
    for place, root in enumerate(roots):
        if not isinstance(root, Tensor) or not root._requires:
            raise RuntimeError(f"draw(): roots must be tensors that require grad; number {place} is {root!r}")
    text = Drawing(as_dot(survey(context_id, roots)))
    if path is not None:
        _write(text, os.fspath(path))
    return text


def survey(context_id: int, roots: Sequence[Tensor] = ()) -> list[Share]:
    """Ask all workers that have the context for their `Share`; returns these, ordered by rank."""
    first = share(context_id, roots)
    found: dict[int, Share | None] = {first.rank: first} if first is not None else {}
    asking = _named(first)
    while new := sorted(asking - found.keys()):
        with Running(None):  # outside the context: see the module's docstring
            answers = [rpc_async(rank, share, args=(context_id,)) for rank in new]
        for rank, answer in zip(new, answers):
            found[rank] = answer.wait()
            asking |= _named(found[rank])
    return [found[rank] for rank in sorted(found) if found[rank] is not None]  # type: ignore[misc]


def share(context_id: int, roots: Sequence[Tensor] = ()) -> Share | None:
    """Return the `Share` of this worker; None if it does not have the context (released, or no tensors arrived with it)."""
    worker = this_worker()
    context = worker.container.contexts.get(context_id)
    if context is None:
        return None
    tops = [edge[0] for edge in map(edge_of, roots) if edge is not None]
    tops += [node for source in list(context.roots.values()) for node in source.nodes]
    info = None if worker.agent is None else worker.agent.info
    return _share(context, worker.worker_id, "worker" if info is None else info.name, tops)


def _share(context: DistAutogradContext, rank: int, name: str, tops: list[Node]) -> Share:
    sends, recvs = dict(context.sends), dict(context.recvs)
    numbers, edges = _walk([*tops, *sends.values(), *recvs.values()])
    names = _parameter_names() if any(isinstance(node, AccumulateGrad) for node in numbers) else {}
    return Share(
        rank,
        name,
        [_looks(node, names) for node in numbers],
        edges,
        {message: numbers[node] for message, node in sends.items()},
        {message: (numbers[node], node.worker) for message, node in recvs.items()},
        set(context.known_workers),
    )


def _walk(tops: list[Node]) -> tuple[dict[Node, int], list[tuple[int, int]]]:
    """Return all nodes below `tops`, with their numbers, and the edges between them as pairs of numbers."""
    numbers = {node: number for number, node in enumerate(dict.fromkeys(tops))}
    todo, edges = list(numbers), []
    while todo:
        node = todo.pop()
        for edge in node.edges:
            if edge is None:
                continue
            if edge[0] not in numbers:
                numbers[edge[0]] = len(numbers)
                todo.append(edge[0])
            edges.append((numbers[node], numbers[edge[0]]))
    return numbers, edges


def _parameter_names() -> dict[int, str]:
    """Return the names of the parameters of all modules of this process, such as `Stage.layers.0.weight`, by `id`."""
    # No list of all modules exists, so the garbage collector is asked. `type(each)`: `isinstance` would call `__class__` of
    # arbitrary objects, such as proxies.
    modules = [each for each in gc.get_objects() if issubclass(type(each), Module)]
    inside = {id(child) for module in modules for child in module.children()}
    names: dict[int, str] = {}
    for module in modules:
        if id(module) not in inside:
            for name, parameter in module.named_parameters():
                names.setdefault(id(parameter), f"{type(module).__name__}.{name}")
    return names


def _looks(node: Node, names: dict[int, str]) -> tuple[str, str]:
    """Return the kind of a node, which determines its colour, and its label; `names` are those of parameters."""
    if isinstance(node, SendRpcBackward):
        return "send", "send"
    if isinstance(node, RecvRpcBackward):
        return "recv", "recv"
    if isinstance(node, AccumulateGrad):
        return "leaf", f"{names.get(id(node.variable), 'leaf')} {tuple(node.variable.shape)}"
    return "operation", node.name()


def _named(found: Share | None) -> set[int]:
    """Return the workers that a share names: those to which its worker sent the context, and those from which tensors came."""
    return set() if found is None else found.known | {rank for _, rank in found.recvs.values()}


def as_dot(shares: Sequence[Share]) -> str:
    """Return the graph of all shares in the DOT language."""
    lines = ["digraph context {", _STYLE]
    for each in shares:
        lines += [f"  subgraph cluster_{each.rank} {{", f'    label="{_quoted(each.name)}"; color="#9aa5b1"; style=rounded;']
        for number, (kind, label) in enumerate(each.nodes):
            lines.append(f'    n{each.rank}_{number} [label="{_quoted(label)}", fillcolor="{_FILL[kind]}"];')
        lines += [f"    n{each.rank}_{start} -> n{each.rank}_{end};" for start, end in each.edges]
        lines.append("  }")
    lines += _journeys(shares)
    return "\n".join([*lines, "}", ""])


def _journeys(shares: Sequence[Share]) -> list[str]:
    """Return the arrows between workers: from a recv function to the send function with the same autograd message id."""
    by_rank = {each.rank: each for each in shares}
    lines = []
    for each in shares:
        for message, (number, source) in each.recvs.items():
            if source in by_rank and message in by_rank[source].sends:
                target = f"n{source}_{by_rank[source].sends[message]}"
                lines.append(f'  n{each.rank}_{number} -> {target} [color="#ba2525", penwidth=1.6];')
    return lines


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _write(text: str, path: str) -> None:
    ending = os.path.splitext(path)[1].lstrip(".").lower()
    if ending in ("dot", "gv"):
        with open(path, "w") as plain:
            plain.write(text)
        return
    if ending not in ("svg", "pdf", "png"):
        raise ValueError(f"draw(): path should end in .dot, .gv, .svg, .pdf or .png, got {path!r}")
    picture = _rendered(text, ending, repr(path))
    with open(path, "wb") as file:
        file.write(picture)


def _rendered(text: str, form: str, what: str) -> bytes:
    """Render DOT text in a format of Graphviz; RuntimeError if Graphviz is missing. `what` is named in the error."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"draw(): {what} needs Graphviz's program `dot`, which is not on PATH (package graphviz of Debian, conda, "
            "Spack); a path that ends in .dot needs nothing"
        )
    made = subprocess.run([program, f"-T{form}"], input=text.encode(), capture_output=True)
    if made.returncode:
        raise RuntimeError(f"draw(): `dot` failed with code {made.returncode}: {made.stderr.decode().strip()}")
    return made.stdout
