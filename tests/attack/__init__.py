"""Attacks: what no program should do to RPC and some do. `make test-attack` runs them for minutes, the tests for seconds."""
