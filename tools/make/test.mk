# The stages of `make test`. Each can be run alone; tools/stages.py runs them all and collects the failures.
STAGES := compile lint types test-serial test-plain test-oracle test-mpi test-mpich test-mpis docs-check test-cuda
PYTEST := -m pytest -q --color=no -p no:cacheprovider
# pytest cuts the lines of its summary at this width
export COLUMNS = 160

# Open MPI looks for networks of these two components for a second whenever a process starts, and the tests start hundreds of
# processes. They serve RDMA networks, of which the tests use none.
$(STAGES): export OMPI_MCA_btl ?= ^uct,ofi

.PHONY: test $(STAGES)
test:  ## every check: lint, types, serial, oracle, MPI (Open MPI and MPICH), docs, emulated GPUs
	@$(PYTHON) tools/stages.py environments $(STAGES)

lint: env-ompi  ## ruff, shellcheck
	$(OMPI)/bin/ruff check .
	$(OMPI)/bin/shellcheck -x $$(git ls-files '*.sh')

types: env-ompi  ## mypy; stubs, and what users' type checkers see
	$(OMPI)/bin/mypy
	$(PLAIN) $(OMPI)/bin/python tools/check_types.py

# three processes on two cores: many tests wait for a process, a timer or the disk
test-serial: compile  ## tests on one rank
	$(COMPILED) $(OMPI)/bin/python $(PYTEST) -n 3 -m "not mpi and not gpu" tests --ignore=tests/oracle

# Without compiled modules the package must do the same: the tests of what is compiled, on one rank and on two. The rank tests of
# all else (process groups, domains, pipelines, checkpoints, examples) run compiled only.
test-plain: env-ompi  ## the tests of what is compiled and the doctests, in plain Python
	$(PLAIN) $(OMPI)/bin/python $(PYTEST) -n 3 -m "not mpi and not gpu" tests/distributed tests/autograd tests/futures tests/sparse tests/optim \
	  tests/process tests/tensor
	$(PLAIN) $(OMPI)/bin/python $(PYTEST) -n 3 --doctest-modules mpigrad
	$(PLAIN) tools/mpirun.sh $(OMPI) 2 300 $(PYTEST) --with-mpi -m "mpi and not gpu" $(COMPILED_PARTS)
COMPILED_PARTS := tests/attack tests/distributed/autograd tests/distributed/rpc tests/distributed/optim tests/distributed/nn \
  tests/sparse tests/watchdog

test-oracle: env-torch env-mpich  ## comparisons with PyTorch, tensors of other frameworks
	$(TORCH)/bin/python $(PYTEST) -n 2 -m "not mpi" tests/oracle tests/interop
	tools/mpirun.sh $(TORCH) 4 400 $(PYTEST) --with-mpi -m "mpi and not gpu" tests/interop
	PYTHONPATH=$$($(TORCH)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	  tools/mpirun.sh $(MPICH) 2 200 $(PYTEST) --with-mpi -m "mpi and not gpu" tests/interop/test_torch_ranks.py

test-mpi: compile  ## tests on 4 ranks of Open MPI; of data parallelism, domains and pipelines also on 1 and 2 ranks
	$(COMPILED) tools/mpirun.sh $(OMPI) 4 400 $(PYTEST) --with-mpi -m "mpi and not gpu" tests --ignore=tests/oracle
	$(COMPILED) tools/mpirun.sh $(OMPI) 2 100 $(PYTEST) --with-mpi -m "mpi and not gpu" $(PARALLEL)
	$(COMPILED) tools/mpirun.sh $(OMPI) 1 100 $(PYTEST) --with-mpi -m "mpi and not gpu" $(PARALLEL)
PARALLEL := tests/nn/parallel tests/distributed/domain tests/distributed/pipelining

docs-check: env-ompi  ## links and examples of the documentation, and the site without a warning
	$(OMPI)/bin/python tools/docs.py build/docs

test-mpich: env-mpich compile  ## tests on 4 ranks of MPICH, and a stopped rank
	$(COMPILED) $(MPICH)/bin/python $(PYTEST) tests/distributed/rpc/lost/test_deaths_of_ranks.py -k any_mpi
	$(COMPILED) tools/mpirun.sh $(MPICH) 4 400 $(PYTEST) --with-mpi -m "mpi and not gpu" tests --ignore=tests/oracle

test-mpis: env-openmpi4 env-intelmpi compile  ## calls and backward passes on 2 ranks of Open MPI 4.1 and of Intel MPI
	$(COMPILED) tools/mpirun.sh $(OMPI4) 2 200 $(PYTEST) --with-mpi -m "mpi and not gpu" $(QUICK)
	$(COMPILED) tools/mpirun.sh $(INTEL) 2 200 $(PYTEST) --with-mpi -m "mpi and not gpu" $(QUICK)
QUICK := tests/distributed/rpc/agent tests/distributed/autograd/backward

# Not part of `make test`: every MPI and every Python that can be had on this machine, from one wheel.
.PHONY: test-matrix wheel recipes
test-matrix:  ## the tests of calls, passes and groups with seven MPIs, four Pythons, other threads and networks; renews docs/verified.md
	@$(PYTHON) tools/matrix.py

recipes:  ## read the recipes for conda, Apptainer and Spack with the parsers and settings of these tools
	@test -d .venv/recipes || $(PYTHON) -m venv .venv/recipes
	@.venv/recipes/bin/python -m pip install -qq --disable-pip-version-check py-rattler-build ruff spython
	@.venv/recipes/bin/python tools/recipes.py

wheel:  ## wheels for every Python of this machine and a source archive in dist/, each tried where there is no compiler
	@$(PYTHON) tools/wheels.py

# Not part of `make test`, which has a few seconds of each: attacks for 20 minutes.
.PHONY: test-attack
test-attack: env-mpich compile  ## for minutes, in both forms and with both MPIs: Ctrl-C at any time, broken frames, mutated files, everything at once
	MPIGRAD_ATTACKS=100000 $(PLAIN) $(OMPI)/bin/python $(PYTEST) tests/ops/test_file_attacks.py
	$(COMPILED) tools/mpirun.sh $(OMPI) 2 400 -m tests.attack.interrupts --interrupts 20000 --seconds 300 --all
	$(PLAIN) tools/mpirun.sh $(OMPI) 2 300 -m tests.attack.interrupts --interrupts 20000 --seconds 200 --all
	$(COMPILED) tools/mpirun.sh $(MPICH) 3 300 -m tests.attack.interrupts --interrupts 20000 --seconds 200 --all
	$(COMPILED) tools/mpirun.sh $(OMPI) 3 200 -m tests.attack.frames --frames 40000 --seconds 100
	$(COMPILED) tools/mpirun.sh $(MPICH) 2 200 -m tests.attack.frames --frames 40000 --seconds 100
	$(COMPILED) $(OMPI)/bin/python -m tests.attack.storm --memory --seconds 60
	$(COMPILED) tools/mpirun.sh $(OMPI) 3 300 -m tests.attack.storm --seconds 60
	$(COMPILED) tools/mpirun.sh $(MPICH) 3 300 -m tests.attack.storm --seconds 60
	$(PLAIN) tools/mpirun.sh $(OMPI) 3 300 -m tests.attack.storm --seconds 60 --dynamic
	$(COMPILED) tools/mpirun.sh $(MPICH) 3 300 -m tests.attack.storm --seconds 60 --dynamic

# Not part of `make test`, which has one such job.
.PHONY: test-survive
test-survive: compile  ## on 4 and 8 ranks of Open MPI, 200 are killed and others stopped, at random moments; all others must go on
	$(COMPILED) $(OMPI)/bin/python -m tests.attack.deaths --kills 200

# Not part of `make test`: more ranks than the machine has cores for. 20 minutes and 12 GB of memory on 2 cores.
.PHONY: test-scale
SCALE ?= 64 128 256
test-scale: env-mpich compile  ## 64, 128 and 256 ranks on this machine with both MPIs: calls, groups, passes; renews benchmarks/results/scale.json
	$(COMPILED) $(OMPI)/bin/python -m benchmarks.scaling.run openmpi $(OMPI) $(SCALE)
	$(COMPILED) $(OMPI)/bin/python -m benchmarks.scaling.run mpich $(MPICH) $(SCALE)
	$(PLAIN) $(OMPI)/bin/python -m benchmarks.scaling.simulate
	$(OMPI)/bin/python -m benchmarks.scaling.plot
	$(OMPI)/bin/python tools/scaling.py --keep

# Not part of `make test`: the same tests once more, on the GPUs of this machine.
.PHONY: test-gpu
test-gpu: env-gpu  ## every test again with device="cuda", on this machine's GPUs (two of them for tests/cuda)
	$(GPU)/bin/python $(PYTEST) -m "not mpi" tests/cuda
	$(GPU)/bin/python $(PYTEST) --device cuda -m "not mpi" tests $(NO_DEVICE)
	tools/mpirun.sh $(GPU) 2 900 $(PYTEST) --with-mpi -m mpi tests/cuda
	tools/mpirun.sh $(GPU) 4 900 $(PYTEST) --with-mpi --device cuda -m mpi tests $(NO_DEVICE)
