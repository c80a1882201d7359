"""The agent: one worker's calls to others (`call_table.py`) and its service for them (`server.py`).

Imports the folders below: `_protocol`, `_transport`, `_wire`, `_progress`. RRefs, worlds and the public API build on it.
"""
