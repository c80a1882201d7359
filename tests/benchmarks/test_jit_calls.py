"""The benchmark of scripted calls: both of a row's functions do the same, and what it prints has all rows."""

from __future__ import annotations

import mpigrad
from benchmarks import jit_calls


def flat(value):
    if isinstance(value, mpigrad.Tensor):
        return value.tolist(), value.requires_grad
    return [flat(each) for each in value] if isinstance(value, (tuple, list)) else value


def test_plain_and_scripted_functions_give_the_same() -> None:
    values = jit_calls.space()
    for row in jit_calls.rows():
        plain, scripted = (flat(eval(f"f({row.arguments})", {**values, "f": each})) for each in jit_calls.callables(row))
        assert plain == scripted, row.name
        recorded = row.name.endswith("recorded")
        assert row.kind != jit_calls.TENSORS or not recorded or "True" in repr(plain), row.name


def test_it_prints_a_line_for_each_row_asked_for(capsys) -> None:
    jit_calls.main(["--rounds", "1", "--only", "x * 2", "--markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and all(each.count("|") == 8 for each in lines), lines
