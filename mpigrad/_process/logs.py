"""Logging with the rank in each line; the environment variable MPIGRAD_LOG sets the level (debug, info, warning, error).

    [2 worker2 14:03:22.118] rpc: worker2 serves 4 threads
"""

from __future__ import annotations

import logging
import os
import sys

from mpigrad._process.rank import launched_rank

VARIABLE = "MPIGRAD_LOG"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_worker_name = ""


def set_worker_name(name: str) -> None:
    """Show a worker's name in all further log lines; "" removes it."""
    global _worker_name
    _worker_name = name


def level_from(value: str) -> int:
    """The logging level for a value of MPIGRAD_LOG; ValueError if it is not one."""
    try:
        return LEVELS[value.strip().lower()]
    except KeyError:
        raise ValueError(f"{VARIABLE}={value!r} is not a level; it can be {', '.join(LEVELS)}") from None


class RankFormatter(logging.Formatter):
    """Formats a record as `[rank name time] part: message`."""

    def format(self, record: logging.LogRecord) -> str:
        rank = launched_rank()
        who = " ".join(filter(None, ["-" if rank is None else str(rank), _worker_name]))
        clock = self.formatTime(record, "%H:%M:%S")
        part = record.name.partition(".")[2] or record.name
        text = f"[{who} {clock}.{int(record.msecs):03d}] {part}: {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to whatever `sys.stderr` is when a record is logged, not when this is imported, so that redirection
    works.
    """

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _root() -> logging.Logger:
    root = logging.getLogger("mpigrad")
    if not any(isinstance(handler, StderrHandler) for handler in root.handlers):
        handler = StderrHandler()
        handler.setFormatter(RankFormatter())
        root.addHandler(handler)
        root.propagate = False
        root.setLevel(level_from(os.environ.get(VARIABLE, "warning")))
    return root


def get_logger(part: str) -> logging.Logger:
    """The logger of one part of the library.

    >>> get_logger("rpc").name
    'mpigrad.rpc'
    """
    return _root().getChild(part)


def note_ignored_addresses(part: str, init_method: str = "env://") -> None:
    """Log at level debug that addresses for other transports (MASTER_ADDR, `init_method`) are ignored."""
    said = [f"{name}={os.environ[name]}" for name in ("MASTER_ADDR", "MASTER_PORT") if name in os.environ]
    if init_method not in ("", "env://"):
        said.append(f"init_method={init_method}")
    if said:
        get_logger(part).debug("%s ignored: MPI connects the ranks", " and ".join(said) + (" is" if len(said) == 1 else " are"))
