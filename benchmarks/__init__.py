"""Side-by-side benchmarks of mpigrad, torch, raw mpi4py and HIPS autograd; see README.md here."""
