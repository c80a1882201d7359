"""From Python source to a graph."""
