"""Log lines that say which rank wrote them; `MPIGRAD_LOG=debug` (or info, warning, error) sets how many.

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
    """Put a worker's name into the lines written from now on ("" takes it out again)."""
    global _worker_name
    _worker_name = name


def level_from(value: str) -> int:
    """The logging level that a value of MPIGRAD_LOG stands for."""
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
    """Writes to whatever sys.stderr is at the time, so that redirection works."""

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
    """One debug line if the program, written for another transport, says where to meet: MPI connects the ranks."""
    said = [f"{name}={os.environ[name]}" for name in ("MASTER_ADDR", "MASTER_PORT") if name in os.environ]
    if init_method not in ("", "env://"):
        said.append(f"init_method={init_method}")
    if said:
        get_logger(part).debug("%s ignored: MPI connects the ranks", " and ".join(said) + (" is" if len(said) == 1 else " are"))
