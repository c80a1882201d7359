"""Simulated worlds, and how costs grow with the number of workers."""
