"""Communication hooks of `DistributedDataParallel`: how a bucket of gradients is averaged over the ranks.

Register one with `model.register_comm_hook(state, hook)`. It is called as `hook(state, bucket)` and returns a `Future` of
the flat tensor of averages.
"""
