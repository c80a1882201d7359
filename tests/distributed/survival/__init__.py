"""Jobs that survive the death of ranks: each test starts a job of its own and kills some of its ranks."""
