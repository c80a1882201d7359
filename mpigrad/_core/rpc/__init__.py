"""The compiled part of RPC: frames, payloads, calls, progress, transports, RRefs. Terms are explained in docs/glossary.md."""

import mpigrad.distributed.rpc  # first, because the modules of both packages import each other
