"""Default values of RPC's options, under PyTorch's names; times are in seconds."""

from __future__ import annotations

from datetime import timedelta

DEFAULT_RPC_TIMEOUT_SEC: float = 60.0
UNSET_RPC_TIMEOUT: float = -1.0  # use the timeout of the agent
DEFAULT_INIT_METHOD: str = "env://"
DEFAULT_SHUTDOWN_TIMEOUT: float = 0  # no limit
DEFAULT_NUM_WORKER_THREADS: int = 16
DEFAULT_PROCESS_GROUP_TIMEOUT: timedelta = timedelta(milliseconds=2**31 - 1)

_DEFAULT_INIT_METHOD, _DEFAULT_NUM_WORKER_THREADS = DEFAULT_INIT_METHOD, DEFAULT_NUM_WORKER_THREADS
_DEFAULT_RPC_TIMEOUT_SEC, _UNSET_RPC_TIMEOUT = DEFAULT_RPC_TIMEOUT_SEC, UNSET_RPC_TIMEOUT
