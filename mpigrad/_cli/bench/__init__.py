"""`mpigrad bench`: latency and bandwidth of RPC and autograd on the user's own cluster."""

from mpigrad._cli.bench.command import add_parser

__all__ = ["add_parser"]
