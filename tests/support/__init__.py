"""What the tests of all areas share: joint verdicts of ranks, deadlines, the leak check, waiting, worlds, other processes."""
