"""The picture of a distributed graph: all workers, every send and recv function, and the arrows between them."""

from __future__ import annotations

import shutil

import pytest

import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad.distributed.autograd import _draw

from . import functions as fn


@pytest.mark.mpi(min_size=2)
def test_one_call_is_two_boxes_and_two_journeys(rpc_world) -> None:
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, fn.add, args=(fn.ones(2, 3), fn.ones(2, 3))).sum()
        text = dist_autograd.draw(context_id, roots=[loss])
    assert text.count("subgraph cluster_") == 2
    assert f"subgraph cluster_{rpc_world.rank} " in text and f"subgraph cluster_{rpc_world.next_rank} " in text
    assert text.count('label="send"') == text.count('label="recv"') == text.count("penwidth") == 2
    assert text.count('label="AddBackward0"') == text.count('label="SumBackward0"') == 1
    assert text.count('label="leaf (2, 3)"') == 2


@pytest.mark.mpi(min_size=2)
def test_parameters_have_their_names(rpc_world) -> None:
    stage = rpc.remote(rpc_world.next_name, nn.Sequential, args=(nn.Linear(3, 2), nn.Linear(2, 1, bias=False)))
    with dist_autograd.context() as context_id:
        loss = stage.rpc_sync().forward(fn.ones(5, 3)).sum()
        text = dist_autograd.draw(context_id, roots=[loss])
    for label in ("Sequential.0.weight (2, 3)", "Sequential.0.bias (2,)", "Sequential.1.weight (1, 2)", "leaf (5, 3)"):
        assert text.count(f'label="{label}"') == 1, text


@pytest.mark.mpi(min_size=4)
def test_workers_known_only_to_others_are_drawn(rpc_world) -> None:
    hops = [rpc_world.worker(rpc_world.rank + distance) for distance in (1, 2, 3)]
    with dist_autograd.context() as context_id:
        rpc.rpc_sync(hops[0], fn.nested, args=(fn.ones(2), fn.ones(2), hops[1:]))
        shares = _draw.survey(context_id)
        text = _draw.as_dot(shares)
        assert dist_autograd._current_context()._known_worker_ids() == {rpc_world.next_rank}
    assert [each.rank for each in shares] == [0, 1, 2, 3]
    assert [each.name for each in shares] == [rpc_world.worker(rank) for rank in range(4)]
    assert text.count("penwidth") == 6  # three hops, there and back


@pytest.mark.mpi(min_size=2)
def test_every_recv_has_the_send_of_its_message(rpc_world) -> None:
    x = fn.ones(3)
    with dist_autograd.context() as context_id:
        for _ in range(3):
            x = rpc.rpc_sync(rpc_world.next_name, fn.add, args=(x, 1.0))
        shares = {each.rank: each for each in _draw.survey(context_id)}
    journeys = [(each.rank, source, message) for each in shares.values() for message, (_, source) in each.recvs.items()]
    assert len(journeys) == 6
    for rank, source, message in journeys:
        assert source != rank and shares[source].nodes[shares[source].sends[message]] == ("send", "send")


@pytest.mark.mpi(min_size=2)
def test_drawing_leaves_the_graph_alone(rpc_world) -> None:
    x = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, fn.add, args=(x, x)).sum()
        first = dist_autograd.draw(context_id, roots=[loss])
        assert dist_autograd.draw(context_id, roots=[loss]) == first
        dist_autograd.backward(context_id, [loss])
        assert dist_autograd.draw(context_id) == first  # the pass's roots are remembered
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [2.0, 2.0, 2.0]


@pytest.mark.mpi(min_size=2)
def test_a_released_context_cannot_be_drawn(rpc_world) -> None:
    with dist_autograd.context() as context_id:
        rpc.rpc_sync(rpc_world.next_name, fn.add, args=(fn.ones(1), 1.0))
    with pytest.raises(RuntimeError, match=f"Could not find autograd context with id: {context_id}"):
        dist_autograd.draw(context_id)


def local_share() -> _draw.Share:
    return _draw.Share(0, 'the "first"', [("leaf", "leaf (1,)")], [], {}, {}, set())


def test_dot_text_needs_no_graphviz(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    text = _draw.as_dot([local_share()])
    _draw._write(text, str(tmp_path / "graph.dot"))
    assert (tmp_path / "graph.dot").read_text() == text
    assert 'label="the \\"first\\""' in text


def test_svg_without_graphviz_says_what_is_missing(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="Graphviz's program `dot`, which is not on PATH"):
        _draw._write(_draw.as_dot([local_share()]), str(tmp_path / "graph.svg"))
    assert not (tmp_path / "graph.svg").exists()
    with pytest.warns(UserWarning, match="a picture in the notebook needs Graphviz's program"):
        assert _draw.Drawing("digraph {}")._repr_svg_() is None  # the notebook shows the text


def test_svg_is_what_dot_makes_of_the_text(tmp_path, monkeypatch) -> None:
    """With a stand-in for Graphviz where there is none."""
    if shutil.which("dot") is None:
        program = tmp_path / "dot"
        program.write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && echo "<svg>" && cat\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    text = _draw.Drawing(_draw.as_dot([local_share()]))
    _draw._write(text, str(tmp_path / "graph.svg"))
    assert "<svg" in (tmp_path / "graph.svg").read_text()
    shown = text._repr_svg_()  # as a notebook asks for it
    assert shown is not None and "<svg" in shown


def test_an_unknown_ending_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="should end in .dot, .gv, .svg, .pdf or .png"):
        _draw._write("digraph {}", str(tmp_path / "graph.txt"))
