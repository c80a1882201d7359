"""Log lines with the rank in front, at the level of MPIGRAD_LOG."""

from __future__ import annotations

import re

import pytest

from mpigrad._process.logs import LEVELS, level_from

pytestmark = pytest.mark.host

PROGRAM = """
from mpigrad._process.logs import get_logger, set_worker_name
log = get_logger("rpc")
log.debug("hidden %d", 1)
set_worker_name("trainer")
log.warning("seen %d", 2)
"""


def test_levels() -> None:
    assert level_from(" DEBUG ") == LEVELS["debug"]
    with pytest.raises(ValueError, match="'loud' is not a level; it can be debug, info, warning, error"):
        level_from("loud")


def test_lines_name_the_rank_and_worker(python) -> None:
    done = python("-c", PROGRAM, PMI_RANK="3")
    assert re.fullmatch(r"\[3 trainer \d\d:\d\d:\d\d\.\d{3}\] rpc: seen 2\n", done.stderr)


def test_variable_sets_the_level(python) -> None:
    lines = python("-c", PROGRAM, MPIGRAD_LOG="debug").stderr.splitlines()
    assert re.fullmatch(r"\[- \d\d:\d\d:\d\d\.\d{3}\] rpc: hidden 1", lines[0])
    assert len(lines) == 2


def test_addresses_of_other_transports_give_one_debug_line(python) -> None:
    program = (
        "import mpigrad.distributed.rpc as rpc\n"
        "options = rpc.TensorPipeRpcBackendOptions(init_method='tcp://elsewhere:1')\n"
        "rpc.init_rpc('solo', rank=0, world_size=1, rpc_backend_options=options)\n"
        "rpc.shutdown()\n"
    )
    done = python("-c", program, MPIGRAD_LOG="debug", MASTER_ADDR="head", MASTER_PORT="29500")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "ignored" in line]
    assert "MASTER_ADDR=head and MASTER_PORT=29500 and init_method=tcp://elsewhere:1 are ignored: MPI connects" in line
    assert "ignored" not in python("-c", program, MASTER_ADDR="head").stderr
