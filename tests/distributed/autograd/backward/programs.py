"""Random programs over random workers: run locally, or distributed; both must give the same gradients.

A program is a list of statements over a list of variables. A statement is a local operation, the use of a worker's own
parameter, or a call of another program on another worker with some of the variables; any of them may be used once, often,
or never.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import mpigrad
import mpigrad.distributed.rpc as rpc

PARAMETERS: dict[tuple[int, int], mpigrad.Tensor] = {}  # (run, rank) -> the worker's own leaf


class Local(NamedTuple):
    op: str
    a: int
    b: int


class Parameter(NamedTuple):
    a: int


class Call(NamedTuple):
    worker: int
    program: Program
    arguments: tuple[int, ...]
    style: str


class Program(NamedTuple):
    statements: tuple[Any, ...]
    results: tuple[int, ...]


def random_program(rng: random.Random, workers: int, variables: int, depth: int = 0) -> Program:
    """A program of a few statements that starts with `variables` variables."""
    statements: list[Any] = []
    for _ in range(rng.randint(1, 5 - depth)):
        kind = rng.random()
        if kind < 0.45 and depth < 3:
            arguments = tuple(rng.randrange(variables) for _ in range(rng.randint(1, 2)))
            inner = random_program(rng, workers, len(arguments), depth + 1)
            statements.append(Call(rng.randrange(workers), inner, arguments, rng.choice(("sync", "async", "remote"))))
            variables += len(inner.results)
        elif kind < 0.6:
            statements.append(Parameter(rng.randrange(variables)))
            variables += 1
        else:
            op = rng.choice(("add", "mul", "sin", "sub"))
            statements.append(Local(op, rng.randrange(variables), rng.randrange(variables)))
            variables += 1
    results = tuple(rng.randrange(variables) for _ in range(rng.randint(1, 2)))
    return Program(tuple(statements), results)


def parameter(run: int, rank: int) -> mpigrad.Tensor:
    """The leaf that a worker adds to programs."""
    key = (run, rank)
    if key not in PARAMETERS:
        values = [0.3 + 0.1 * rank, 0.7 - 0.05 * rank]
        PARAMETERS[key] = mpigrad.tensor(values, dtype=mpigrad.float64, requires_grad=True)
    return PARAMETERS[key]


def execute(program: Program, here: int, run: int, inputs: tuple[mpigrad.Tensor, ...], distributed: bool) -> Any:
    """Run a program on worker `here`, with calls to other workers or without."""
    variables = list(inputs)
    for statement in program.statements:
        if isinstance(statement, Local):
            variables.append(_local(statement, variables))
        elif isinstance(statement, Parameter):
            variables.append(variables[statement.a] * parameter(run, here))
        else:
            given = tuple(variables[i] for i in statement.arguments)
            variables.extend(_call(statement, run, given, distributed))
    return tuple(variables[i] for i in program.results)


def _local(statement: Local, variables: list[mpigrad.Tensor]) -> mpigrad.Tensor:
    a, b = variables[statement.a], variables[statement.b]
    if statement.op == "sin":
        return a.sin()
    return {"add": a + b, "mul": a * b, "sub": a - b * 0.5}[statement.op]


def _call(statement: Call, run: int, given: tuple[mpigrad.Tensor, ...], distributed: bool) -> Any:
    arguments = (statement.program, statement.worker, run, given, distributed)
    if not distributed:
        return execute(*arguments)
    to = f"worker{statement.worker}"
    if statement.style == "sync":
        return rpc.rpc_sync(to, execute, args=arguments)
    if statement.style == "async":
        return rpc.rpc_async(to, execute, args=arguments).wait()
    return rpc.remote(to, execute, args=arguments).to_here()


def inputs(count: int) -> tuple[mpigrad.Tensor, ...]:
    """Fresh leaves of the program's caller."""
    return tuple(
        mpigrad.tensor([0.5 + 0.2 * i, -0.4 + 0.1 * i], dtype=mpigrad.float64, requires_grad=True) for i in range(count)
    )


def loss_of(results: tuple[mpigrad.Tensor, ...]) -> mpigrad.Tensor:
    total = results[0].sum()
    for each in results[1:]:
        total = total + each.sum() * 0.5
    return total


def local_gradients(program: Program, here: int, run: int, count: int, workers: int) -> tuple[list[Any], list[Any]]:
    """The gradients of the caller's inputs and of every worker's parameter, from one process."""
    leaves = inputs(count)
    loss = loss_of(execute(program, here, run, leaves, distributed=False))
    wanted = [*leaves, *(parameter(run, rank) for rank in range(workers))]
    if not loss.requires_grad:
        return [None] * count, [None] * workers
    found = [None if each is None else each.tolist() for each in mpigrad.autograd.grad(loss, wanted, allow_unused=True)]
    return found[:count], found[count:]
