"""Errors of spawned processes."""

from __future__ import annotations


class ProcessException(Exception):
    """Raised if a spawned process failed; `error_index` is its rank, or -1 if it is not known."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """Raised if the function of a spawned process raised; the message contains the traceback."""


class ProcessExitedException(ProcessException):
    """Raised if a spawned process exited with a code, or by a signal (then `exit_code` is the negative number of the signal)."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
