"""Tests with other frameworks run where these are installed: `make test-oracle` has an environment with them."""

from __future__ import annotations

from importlib.util import find_spec

TESTS = {"torch": "test_torch*", "jax": "test_jax*", "autograd": "test_hips_autograd*"}
collect_ignore_glob = [tests for package, tests in TESTS.items() if not find_spec(package)]
