"""Parts of the agent: the current agent, device maps, profiling and retries of calls, timers, latency.

The agent itself is in `_core/rpc` (`agent.py`, `calls.py`). This folder imports `_protocol`, `_transport` and
`_progress`; RRefs, worlds and the public API are built on it. Terms are explained in docs/glossary.md.
"""
