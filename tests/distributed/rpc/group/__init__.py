"""Tests of calls to groups of workers."""
