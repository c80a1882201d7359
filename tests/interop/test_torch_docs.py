"""The programs of docs/interop.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_docs import programs, run

pytest.importorskip("jax")
pytest.importorskip("autograd")


@pytest.mark.deadline(200)  # ranks that import frameworks, on machines that may be busy
@pytest.mark.parametrize("framework", ["torch", "jax", "autograd"])
def test_the_program_of_each_framework(framework: str, tmp_path: Path) -> None:
    (program,) = (each for each in programs("interop.md") if f'print("{framework}"' in each)
    output = run(program, 2, tmp_path, PYTHONPATH=str(Path(__file__).parents[2]))  # one of them imports from the tests
    numbers = [float(each) for each in re.findall(r"[-+\d.e]+", output.partition(framework)[2])]
    if framework == "autograd":
        assert numbers == pytest.approx([0.0, 0.6397, 0.1362], abs=1e-3)  # 2 tanh(x) (1 - tanh(x)^2)
    else:
        assert numbers[0] < 1e-2


def test_the_program_with_tensors_of_both_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    exec(programs("interop.md")[0], {})
    assert capsys.readouterr().out == "both mpigrad.Size([10, 4]) torch.Size([1, 4])\n"
