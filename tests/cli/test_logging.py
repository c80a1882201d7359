"""Log lines with the rank in front, at the level of MPIGRAD_LOG."""

from __future__ import annotations

import re

import pytest

from mpigrad._logging import LEVELS, level_from

PROGRAM = """
from mpigrad._logging import get_logger, set_worker_name
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
