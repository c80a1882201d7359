"""Help with jobs that hang: stacks on a signal, and a watch that reports calls without an answer.

Imports `_process` and the agent of RPC, into which it plugs itself when a worker starts.
"""
