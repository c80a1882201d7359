"""Operators, one folder per family: an operator's forward on arrays stands beside its derivative."""
