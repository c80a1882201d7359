"""How costs grow with the number of workers: the same programs on simulated workers and on real ranks."""
