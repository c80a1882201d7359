"""The compiled part of distributed autograd: graphs, contexts, backward passes."""

import mpigrad.distributed.autograd
