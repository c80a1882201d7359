"""The drawings of docs/design.md: python tools/drawings.py docs/pictures"""

from __future__ import annotations

import sys
from pathlib import Path

from svg import Lanes, Page, Sequence

ONE, OTHER = "#fdf3e7", "#e8f4ec"


def call() -> Page:
    page = Sequence(["worker0", "worker1"], gap=420, margin=160)
    page.at(0, 'rpc_sync("worker1", f, (x,))')
    page.at(0, "encode: header | arrays | meta | function")
    page.send(0, 1, "one frame (Isend)")
    page.at(0, "polls MPI itself")
    page.at(1, "a posted receive completes: the leader takes it", also=True)
    page.at(1, "runs f(x) on its own stack")
    page.send(1, 0, "answer (Isend)", dashed=True)
    page.at(0, "completes its own future, returns")
    return page


def nested_backward() -> Page:
    page = Sequence(["worker0", "worker1", "worker2"], gap=300, margin=130)
    page.at(0, "roots: SumBackward0 -> recv")
    page.send(0, 1, "BACKWARD (gradients)")
    page.at(1, "send -> MulBackward0 -> recv")
    page.send(1, 2, "BACKWARD (gradients)")
    page.at(2, "send -> ExpBackward0 -> recv")
    page.send(2, 1, "answer, with gradients", dashed=True)
    page.at(1, "send -> recv")
    page.send(1, 0, "answer, with gradients", dashed=True)
    page.at(0, "send -> leaf: backward() returns")
    return page


def two_phases() -> Page:
    page = Sequence(["worker0 (initiator)", "worker1", "worker2"], gap=290, margin=180)
    page.band("propagate", 4, ONE)
    page.send(0, 1, "BACKWARD(a)")
    page.send(0, 2, "BACKWARD")
    page.at(1, "send a shares a node with send b: held")
    page.send(1, 0, "HOLD")
    page.band("reach", 5, OTHER)
    page.at(0, "finds the recvs below the roots")
    page.send(0, 1, "REACH")
    page.send(1, 2, "REACH", also=True)
    page.at(1, "marks what it will run")
    page.at(2, "marks what it will run", also=True)
    page.send(2, 1, "answer", dashed=True)
    page.send(1, 0, "answer", dashed=True, also=True)
    page.send(0, 1, "REACHED: both a and b will arrive")
    page.band("propagate, to the end", 4, ONE)
    page.send(2, 1, "BACKWARD(b)")
    page.at(1, "counts are zero: the held part runs")
    page.send(1, 0, "DONE")
    page.at(0, "nothing pending, no worker holds: returns")
    return page


def rref() -> Page:
    page = Sequence(["owner (has the value)", "worker1", "worker2"], gap=290, margin=150)
    page.send(0, 1, "rref")
    page.at(0, "children: 1")
    page.at(1, "fork", also=True)
    page.send(1, 2, "rref")
    page.at(1, "children: 1")
    page.at(2, "fork", also=True)
    page.at(1, "RRef deleted, a child is left: no message")
    page.at(2, "RRef deleted", also=True)
    page.send(2, 1, "ended")
    page.at(1, "children: 0")
    page.send(1, 0, "ended")
    page.at(0, "children: 0, no RRef here: value freed")
    return page


def remote() -> Page:
    page = Sequence(["caller", "owner"], gap=420, margin=170)
    page.at(0, "remote(to, f): an RRef at once")
    page.send(0, 1, "call, with the RRef's number")
    page.at(1, "counts the caller as a child")
    page.at(1, "runs f, keeps the result")
    page.send(1, 0, "answer: created (or f's error)", dashed=True)
    page.send(0, 1, "to_here()")
    page.at(1, "waits for f if necessary")
    page.send(1, 0, "the value", dashed=True)
    return page


def threads() -> Page:
    page = Lanes(960)
    page.event(16, "request f", lanes=3)
    page.event(36, "request slow", lanes=3)
    page.event(60, "request g", lanes=3)
    page.lane("thread 1", [(0, 16, "poll", "leads: polls"), (16, 26, "run", "runs f"), (26, 36, "poll", "polls"),
                           (36, 86, "run", "runs slow"), (86, 100, "sleep", "sleeps")])  # fmt: skip
    page.lane("thread 2", [(0, 44, "look", "monitor: checks that a thread polls"), (44, 60, "poll", "takes the lead"),
                           (60, 72, "run", "runs g"), (72, 100, "poll", "polls")])  # fmt: skip
    page.lane("thread 3", [(0, 44, "sleep", "sleeps"), (44, 100, "look", "becomes the monitor")])
    return page


def waiting() -> Page:
    page = Lanes(960)
    page.event(14, "request h", lanes=2)
    page.lane("thread 1", [(0, 14, "poll", "leads: polls"), (14, 32, "run", "runs h: rpc_sync"),
                           (32, 68, "poll", "polls for its answer, on h's stack"), (68, 84, "run", "h continues"),
                           (84, 100, "poll", "polls")])  # fmt: skip
    page.lane("main", [(0, 68, "sleep", "future.wait(): sleeps while another polls"),
                       (68, 84, "poll", "leads: polls"), (84, 100, "sleep", "sleeps")])  # fmt: skip
    return page


DRAWINGS = {"call": call, "nested_backward": nested_backward, "two_phases": two_phases, "rref": rref, "remote": remote,
            "threads": threads, "waiting": waiting}  # fmt: skip


def main(folder: str) -> None:
    for name, draw in DRAWINGS.items():
        (Path(folder) / f"{name}.svg").write_text(draw().svg())


if __name__ == "__main__":
    main(sys.argv[1])
