"""Calls to the workers of a checkpoint, and which saved shares each of them needs."""

from __future__ import annotations

from typing import Any

from .. import rpc
from ..rpc._protocol.errors import RpcTimeoutError
from ._files import CheckpointError
from ._parts import Share

TIMEOUT = 600.0  # seconds: a slow file system may take minutes for a large share, but a lost worker would block forever


class Task:
    """A call to one worker for a checkpoint, started at once.

    `doing` is what the worker does, for the error of a timeout (in seconds, 0 for none).
    """

    def __init__(self, worker: str, doing: str, function: Any, args: tuple[Any, ...], timeout: float) -> None:
        self.worker, self.doing, self.timeout = worker, doing, timeout
        self.future = rpc.rpc_async(worker, function, args=args, timeout=timeout)

    def wait(self) -> Any:
        """Return the result of the call; CheckpointError after the timeout."""
        try:
            return self.future.wait()
        except RpcTimeoutError as error:
            raise CheckpointError(
                f"{self.worker} had not finished {self.doing} after {self.timeout:g} s; if it is only slow, give a larger "
                "timeout (0: wait forever)"
            ) from error


def needed(files: list[dict[str, Any]], shares: list[Share]) -> list[dict[str, Any]]:
    """Return the files (entries of the manifest) that are needed to load these shares.

    Those that have parts of them; all files if a part is not saved under its name, as its tensors may then be in any
    other part.
    """
    wanted = {each.part for each in shares}
    saved = {part for each in files for part in each["parts"] or ()}
    return [each for each in files if each["parts"] is None or not wanted <= saved or wanted & set(each["parts"])]
