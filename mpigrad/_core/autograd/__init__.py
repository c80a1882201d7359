"""Distributed autograd's compiled part: graphs, contexts, backward passes."""

import mpigrad.distributed.autograd
