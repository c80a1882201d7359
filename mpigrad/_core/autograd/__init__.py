"""The compiled part of distributed autograd: graphs, contexts, backward passes. Terms are explained in docs/glossary.md."""

import mpigrad.distributed.autograd  # first, because the modules of both packages import each other
