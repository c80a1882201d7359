"""What the tests of all areas share: ranks' joint verdicts, deadlines, the leak check and the worlds."""
