"""Programs in the documentation run: on as many ranks as the page says, with the output that it promises.

The Python blocks of a page that are not sessions (those are doctests, see tools/docs.py) are programs. A block that imports
mpi4py begins one, and the blocks after it go on with it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

from tests.support.commands import clean_environment

pytestmark = pytest.mark.deadline(200)  # several starts of several ranks, on machines that may be busy
SECONDS = 90
DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "from mpi4py.MPI import COMM_WORLD as world"


def blocks(page: str, language: str = "python") -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in found if ">>>" not in block]


def programs(page: str) -> list[str]:
    """The page's programs, each put together from its blocks."""
    found: list[str] = []
    for block in blocks(page):
        if not found or BEGIN in block:
            found.append(block)
        else:
            found[-1] += "\n\n" + block
    return found


def run(
    code: str, ranks: int, where: Path, *arguments: str, options: tuple[str, ...] = (), fails: bool = False, **variables: str
) -> str:
    (where / "program.py").write_text(code)
    command = [sys.executable, "-m", "mpigrad", "run", *options, "-n", str(ranks), "program.py", *arguments]
    environment = {**clean_environment(), **variables}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stdout


def promised(page: str, pattern: str) -> list[str]:
    """The indented lines of a page that look so."""
    lines = [line.strip() for line in (DOCS / page).read_text().splitlines() if line.startswith("    ")]
    return [line for line in lines if re.match(pattern, line)]


def ported(program: str, changes: str) -> str:
    """The program with each run of removed lines replaced by the lines added after it."""
    for old, new in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", changes, re.MULTILINE):
        before, after = (re.sub(r"^[-+]", "", each, flags=re.MULTILINE) for each in (old, new))
        assert program.count(before) == 1
        program = program.replace(before, after)
    return program


def test_the_ported_parameter_server_learns(tmp_path: Path) -> None:
    (program,), (changes,) = blocks("porting.md"), blocks("porting.md", "diff")
    code = ported(program, changes)
    assert "import torch" not in code and "MASTER_ADDR" not in code
    weights = [float(each) for each in re.findall(r"\d\.\d+", run(code, 3, tmp_path))]
    assert len(weights) == 4
    assert all(abs(each - 1) < 0.1 for each in weights), weights  # trainers may use weights that are a step old


def test_parameter_server(tmp_path: Path) -> None:
    (program,) = programs("guides/parameter_server.md")
    output = run(program, 4, tmp_path)
    losses, weight = (json.loads(each) for each in re.findall(r"\[.*?\]", output))
    assert len(losses) == 3 and max(losses) < 1e-3
    assert [round(each, 2) for each in weight] == [1.0, -2.0, 0.5]


def test_pipeline(tmp_path: Path) -> None:
    (program,) = programs("guides/pipeline.md")
    first, last = (float(each) for each in re.findall(r"loss ([\d.]+)", run(program, 4, tmp_path)))
    assert last < 0.6 * first


def test_hybrid(tmp_path: Path) -> None:
    (program,) = programs("guides/hybrid.md")
    found = re.findall(r"rank (\d): loss ([\d.]+) -> ([\d.]+)", run(program, 3, tmp_path))
    assert sorted(rank for rank, _, _ in found) == ["1", "2"]
    assert all(float(last) < 0.5 * float(first) for _, first, last in found)


def test_sparse(tmp_path: Path) -> None:
    (program,) = programs("guides/sparse.md")
    shown = promised("guides/sparse.md", r"rows \[")
    assert shown and run(program, 2, tmp_path).splitlines() == shown


def test_checkpoint_resumes_with_the_same_loss(tmp_path: Path) -> None:
    (program,) = programs("guides/checkpoint.md")
    whole = re.findall("final loss.*", run(program, 2, tmp_path, "whole"))
    assert "stopped after step 17" in run(program, 2, tmp_path, "parts", fails=True, STOP_AT="17")
    rest = run(program, 2, tmp_path, "parts")
    assert "resume at step 10" in rest and re.findall("final loss.*", rest) == whole


def test_profile_prints_what_the_page_says(tmp_path: Path) -> None:
    trace, profile = programs("guides/profile.md")
    shown = promised("guides/profile.md", r"\d rpc_sync#")
    assert len(shown) == 3
    assert run(profile, 2, tmp_path).splitlines() == shown
    assert (tmp_path / "calls.json").exists()
    run(trace, 3, tmp_path)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"reach phase", "held part", "propagate", "reach", "Stage.forward"} <= {event["name"] for event in events}
    assert {event["pid"] for event in events} == {0, 1, 2}


def test_the_hang_is_explained_as_the_page_says(tmp_path: Path) -> None:
    (program,) = programs("guides/hang.md")
    command = [sys.executable, "-m", "mpigrad", "run", "-n", "3", "program.py"]
    (tmp_path / "program.py").write_text(program)
    environment = {**clean_environment(), "MPIGRAD_STALL_SECONDS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    for line in promised("guides/hang.md", r"(worker\d waits for \w+ on|all of them wait|with lock)"):
        assert line in done.stderr, done.stderr


def test_the_loss_of_a_worker(tmp_path: Path) -> None:
    (program,) = programs("guides/surviving.md")
    shown = promised("guides/surviving.md", r"(worker2 was|\[)")
    output = run(program, 4, tmp_path, options=("--survive",)).splitlines()
    assert len(shown) == 3 and sorted(output) == sorted(["lost: worker2", *shown])


def test_a_group_shrinks(tmp_path: Path) -> None:
    program, _ = blocks("guides/recovering.md")
    shown = promised("guides/recovering.md", r"(step \d|lost: \[)")
    assert len(shown) == 6
    assert run(program, 4, tmp_path, options=("--survive",)).splitlines() == shown


def test_a_spare_takes_the_place_of_a_lost_rank(tmp_path: Path) -> None:
    _, program = blocks("guides/recovering.md")
    shown = promised("guides/recovering.md", r"(lost: worker|back:|\['0')")
    assert len(shown) == 3
    assert run(program, 4, tmp_path, options=("--survive", "--spares", "1")).splitlines() == shown


def test_scripts(tmp_path: Path) -> None:
    (program,) = programs("jit.md")
    output = run(program, 1, tmp_path)
    assert "prim::rpc_async[" in output and "aten::wait(" in output


def test_gpu(tmp_path: Path) -> None:
    """On the CPU where there is no GPU, as the program says."""
    (program,) = programs("gpu.md")
    assert run(program, 1, tmp_path).strip() in ("cpu", "cuda:0")


def test_adjoints(tmp_path: Path) -> None:
    """On rank 0 the gradient of what rank 1 computes from its message arrives."""
    (program,) = programs("adjoints.md")
    use = "x.grad = None\nrelay(x, dist.get_rank()).backward()\nif dist.get_rank() == 0:\n    print(x.grad.tolist())\n"
    output = run(f"{program}\n\n{use}dist.destroy_process_group()\n", 2, tmp_path)
    assert output.strip() == "[2.0, 2.0, 2.0]"


def test_docstrings_of_the_reference_link_to_the_glossary() -> None:
    spec = importlib.util.spec_from_file_location("reference", DOCS.parent / "tools" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    made = reference.with_links("A context manager. The `worker` and two workers, each worker in a context.\n```\nan agent\n```")
    workers, context = "[workers](../glossary.md#workers-and-calls)", "[context](../glossary.md#distributed-autograd)"
    assert made == f"A context manager. The `worker` and two {workers}, each worker in a {context}.\n```\nan agent\n```"


def test_drawings_are_those_of_the_tool(tmp_path: Path) -> None:
    tool = DOCS.parent / "tools" / "drawings.py"
    subprocess.run([sys.executable, str(tool), str(tmp_path)], check=True, timeout=SECONDS)
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert len(made) > 5 and made == {name: (DOCS / "pictures" / name).read_text() for name in made}
    for picture in (DOCS / "pictures").glob("*.svg"):
        assert xml.etree.ElementTree.parse(picture).getroot().tag.endswith("svg")
        assert any(f"pictures/{picture.name})" in page.read_text() for page in DOCS.rglob("*.md")), picture.name


@pytest.mark.parametrize("page", sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")))
def test_every_program_has_a_test(page: str) -> None:
    """Every page with a program is tested."""
    here = Path(__file__).parent
    files = ("test_docs.py", "test_tour.py", "harness/test_plugin.py", "interop/test_torch_docs.py")
    source = "".join((here / name).read_text() for name in files)
    assert not programs(page) or f'"{page}"' in source


def test_the_first_program_of_the_start_page_is_the_example() -> None:
    (program,) = programs("start.md")
    assert program == (DOCS.parent / "examples" / "first.py").read_text()


def test_commands_of_the_pages_exist() -> None:
    """Files that pages tell the reader to run, and pictures' commands."""
    text = "\n".join(path.read_text() for path in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")])
    paths = set(re.findall(r"(?:examples|slurm|tools|benchmarks)/[\w/]+\.(?:py|sh)", text))
    assert len(paths) > 10
    for path in paths:
        assert os.path.exists(DOCS.parent / path), path


def test_tutorial(tmp_path: Path) -> None:
    """Each step prints what the page says; the last one learns."""
    call, gradient, split, train = programs("tutorial.md")
    shown = promised("tutorial.md", "step [23]:")
    assert run(call, 2, tmp_path).splitlines() == shown[:1]
    assert run(gradient, 2, tmp_path).splitlines() == shown[1:]
    assert "shape (4, 1)" in run(split, 3, tmp_path)
    first, last = (float(each) for each in re.findall(r"loss ([\d.]+)", run(train, 3, tmp_path)))
    assert last < 0.3 * first


def test_the_messages_of_the_faq_exist() -> None:
    """Each quoted message stands in the source, so that a reader who searches for it finds the page."""
    rows = re.findall(r"^\| (`.*?) \|", (DOCS / "faq.md").read_text(), re.MULTILINE)
    messages = [message for row in rows for message in re.findall("`([^`]* [^`]*)`", row)]
    assert len(messages) > 20
    source = "\n".join(path.read_text() for path in (DOCS.parent / "mpigrad").rglob("*.py"))
    assert not [message for message in messages if message not in source]
