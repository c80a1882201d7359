"""RPC's compiled part: frames, payloads, calls, progress, transports, RRefs."""

import mpigrad.distributed.rpc
