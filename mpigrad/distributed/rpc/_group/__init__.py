"""Groups of workers: one call to all members, through a tree. Made of ordinary calls, so contexts record each hop.

May import: all of RPC. Autograd is not needed: what it records of a hop is what it records of any nested call.
"""
