"""Follows a chain of waiting workers, from an unanswered call to the worker that causes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mpigrad._watchdog.view import View, Wait, view

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

ANSWER_SECONDS = 5.0  # longer than a busy worker needs, shorter than a user waits
MOST_STEPS = 64  # a chain may grow while it is followed


class Link(NamedTuple):
    """One link of the chain: a pending function, its worker and that worker's report (None: no answer)."""

    wait: Wait
    rank: int
    answer: View | None


def ask(agent: Agent, rank: int) -> View | None:
    """A worker's report of its state; None if it does not answer in time."""
    try:
        answer: View = agent.call(rank, view, (), {}, ANSWER_SECONDS).wait()
    # any failure to answer is an answer: a watchdog must not fail itself
    except Exception:
        return None
    return answer


def follow(agent: Agent, wait: Wait) -> tuple[list[Link], bool]:
    """The links from this worker's wait to the end, and whether they form a cycle (a deadlock)."""
    links: list[Link] = []
    seen = {agent.rank}
    while len(links) < MOST_STEPS:
        answer = ask(agent, wait.rank)
        links.append(Link(wait, wait.rank, answer))
        if answer is None or not answer.waits:
            return links, False
        # asked before: the chain has come back to one of its workers
        if wait.rank in seen:
            return links, True
        seen.add(wait.rank)
        # the oldest call: the worker may wait for several, and the oldest has been stuck the longest
        wait = answer.waits[0]
    return links, False


def explain(agent: Agent, seconds: float, links: list[Link], circle: bool) -> str:
    """The links of a chain as text, ending with the stack of the worker for which the others wait.

    `seconds`: how long this worker has waited. `circle`: the chain is a cycle, a deadlock.
    """

    def name(rank: int) -> str:
        return agent.workers[rank].name if rank in agent.workers else f"rank {rank}"

    lines = [f"{agent.info.name} has waited {seconds:.0f} s for {links[0].wait.function} on {name(links[0].rank)}"]
    for before, link in zip(links, links[1:]):
        lines.append(f"  {name(before.rank)} waits for {link.wait.function} on {name(link.rank)}")
    last = links[-1]
    if circle:
        lines.append("  these workers wait for each other: a deadlock")
    if last.answer is None:
        lines.append(f"  {name(last.rank)} does not answer: it is dead, cut off, or stuck outside of Python")
        return "\n".join(lines)
    if not circle:
        lines.append(f"  all of them wait for {name(last.rank)}, which is here:")
    for thread, stack in last.answer.stacks:
        lines.append(f"  thread {thread} of {name(last.rank)}:")
        lines += [f"  {line}" for line in stack.rstrip().splitlines()]
    return "\n".join(lines)
