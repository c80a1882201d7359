"""Groups of workers: one call to all members, through a tree of ordinary calls (see `WorkerGroup`).

May import all of RPC, but not autograd, which records each hop of the tree as it records any nested call.
"""
