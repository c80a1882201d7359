"""Help with hanging jobs: prints stacks on a signal, and reports calls that are not answered.

Imports `_process` and the agent of RPC; starts with each agent through its hooks.
"""
