# Things to run: the demonstration, the benchmarks, the documentation.
RANKS ?= 4

.PHONY: demo docs bench bench-check
demo: env-demo  ## train a model that is split over 4 ranks
	@tools/mpirun.sh $(DEMO) $(RANKS) 600 examples/digits_split.py

bench: env-torch trained  ## all benchmarks, with tables and plots in benchmarks/results
	$(TORCH)/bin/python -m benchmarks

bench-check: env-torch trained  ## fail with the list of bars that are missed
	$(TORCH)/bin/python -m benchmarks --check

docs: env-ompi  ## check the documentation, build the site in build/docs
	$(OMPI)/bin/python tools/docs.py build/docs
