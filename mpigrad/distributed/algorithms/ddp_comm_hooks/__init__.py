"""Communication hooks of `DistributedDataParallel`: how a bucket of gradients is reduced."""
