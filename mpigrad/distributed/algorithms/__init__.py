"""Algorithms on top of collectives: communication hooks of `DistributedDataParallel`."""
