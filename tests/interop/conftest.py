"""Tests with other frameworks run where these are installed: `make test-oracle` has an environment with them."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_torch*"]
