"""Pictures of traces: lanes, arrows, a legend, and nothing that is cut."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import mpigrad
from mpigrad._cli.main import main
from mpigrad.autograd.profiler import profile
from mpigrad.profiler._picture import LETTER, WIDTH, draw_trace

SVG = "{http://www.w3.org/2000/svg}"


def slice_of(name: str, pid: Any, ts: float, dur: float, cat: str = "rpc", tid: int = 0) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur}


def a_trace(end: float = 1000.0) -> list[dict[str, Any]]:
    return [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "rank 0: trainer<0>"}},
        slice_of("rpc_sync#Stage.forward(trainer -> ps)", 0, 0, end),
        slice_of("aten::mul", 0, end * 0.1, end * 0.2, "cpu_op"),
        slice_of("Stage.forward", 1, end * 0.4, end * 0.3, "serve"),
        slice_of("strange", 1, end * 0.9, end * 0.1, "what"),
        {"ph": "s", "id": "1", "cat": "rpc", "pid": 0, "tid": 0, "ts": end * 0.35},
        {"ph": "f", "id": "1", "cat": "rpc", "pid": 1, "tid": 0, "ts": end * 0.4},
        {"ph": "s", "id": "lost", "cat": "rpc", "pid": 0, "tid": 0, "ts": end * 0.5},
        {"ph": "b", "id": "p", "name": "reach phase", "pid": 0, "tid": 0, "ts": end * 0.5},
        {"ph": "e", "id": "p", "name": "reach phase", "pid": 0, "tid": 0, "ts": end * 0.6},
    ]


def texts(picture: str) -> list[tuple[float, float, str]]:
    found = ElementTree.fromstring(picture).iter(f"{SVG}text")
    return [(float(each.get("x")), float(each.get("y")), each.text or "") for each in found]


@pytest.mark.parametrize("end", [0.7, 12.0, 999.0, 1000.0, 31_000.0, 4e7])
def test_every_word_is_inside_the_picture(end: float) -> None:
    picture = draw_trace(a_trace(end))
    height = float(ElementTree.fromstring(picture).get("viewBox").split()[3])
    for x, y, text in texts(picture):
        assert 0 <= x and x + (LETTER - 0.7) * len(text) <= WIDTH and y < height, text
    marks = [text for _, y, text in texts(picture) if y == 12]
    assert 4 <= len(marks) <= 11 and marks[0].startswith("0 ") and len(set(marks)) == len(marks)


def test_lanes_arrows_and_a_legend_of_what_there_is() -> None:
    picture = draw_trace(a_trace())
    words = [text for _, _, text in texts(picture)]
    assert {"trainer<0>", "process 1", "Stage.forward", "rpc_sync#Stage.forward(trainer -> ps)"} <= set(words)
    assert {"call", "served for another worker", "operator, node", "phase of a pass", "other"} <= set(words)
    assert "labelled block" not in words and "arrows: messages; dashed: answers" in words
    assert picture.count("marker-end") == 1


def test_slices_too_short_to_be_seen_are_counted() -> None:
    many = [slice_of("tiny", 0, n * 0.01, 0.005) for n in range(4000)]
    picture = draw_trace([slice_of("all", 0, 0, 1e6), *many])
    assert "4000 slices are too short to be drawn" in picture and picture.count("<rect") < 10


def test_the_command_draws_any_trace(tmp_path: Path, capsys) -> None:
    with profile() as prof:
        mpigrad.ones(2) * 2
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert main(["trace", str(tmp_path / "trace.json")]) == 0
    assert "aten::mul" in (tmp_path / "trace.svg").read_text() and capsys.readouterr().out.strip().endswith("trace.svg")
    with gzip.open(tmp_path / "other.json.gz", "wt") as file:
        json.dump({"traceEvents": a_trace()}, file)
    assert main(["trace", str(tmp_path / "other.json.gz"), "-o", str(tmp_path / "named.svg")]) == 0
    assert "Stage.forward" in (tmp_path / "named.svg").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "cannot be read as a trace"), ("{", "cannot be read as a trace"), ("{}", "it has no list of events"),
     ("[]", "the trace has no events with a duration"), ("[3]", "it has no list of events")],
)  # fmt: skip
def test_files_that_are_no_traces(tmp_path: Path, capsys, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    assert main(["trace", str(tmp_path / "a.json")]) == 2
    assert re.search(said, capsys.readouterr().err)
