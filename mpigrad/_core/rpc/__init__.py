"""The compiled part of RPC: frames, payloads, calls, progress, transports, RRefs."""

import mpigrad.distributed.rpc
