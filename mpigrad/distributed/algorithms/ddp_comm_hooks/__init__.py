"""Communication hooks of `DistributedDataParallel`: how gradients are averaged over the ranks.

Register one with `model.register_comm_hook(state, hook)`. It is called as `hook(state, bucket)`, where the bucket
(`GradBucket`) has the gradients of several parameters in one flat tensor, and returns a `Future` of the flat tensor of
averages.
"""
