"""Attacks: stress tests that do to RPC what programs should not do.

`make test-attack` runs them for minutes, the tests for seconds.
"""
