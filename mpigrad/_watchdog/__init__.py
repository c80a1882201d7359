"""Help with jobs that stand still: stacks on a signal, and a watch for calls that are not answered."""
