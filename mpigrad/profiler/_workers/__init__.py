"""One trace of all workers: every worker notes what it does, one of them brings the notes together on its clock."""
