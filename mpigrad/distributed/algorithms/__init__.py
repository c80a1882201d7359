"""Algorithms on top of collectives: `Join`, and communication hooks of `DistributedDataParallel`."""
