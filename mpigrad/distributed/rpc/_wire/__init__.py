"""The wire format of values: arguments and results as payloads, arrays as bytes, pickling of everything else.

Imports `_protocol` and `_transport/device`. The agent encodes and decodes with the functions of `payload.py`.
"""
