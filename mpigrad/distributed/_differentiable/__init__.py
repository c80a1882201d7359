"""Collectives and messages with gradients: the backward of a collective is a collective of the same group.

The loss of a job is the sum of its ranks' losses. The adjoint of a collective with respect to that sum: docs/adjoints.md. Public
names are in `mpigrad.distributed.nn.functional`.
"""
