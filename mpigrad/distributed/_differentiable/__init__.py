"""Collectives and messages with gradients: the backward of a collective is a collective of the same group.

The loss of a job is the sum of its ranks' losses; gradients are those of this sum. For the formulas (adjoints) see
docs/adjoints.md, for the terms docs/glossary.md. Public names are in `mpigrad.distributed.nn.functional`.
"""
