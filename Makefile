# make demo | test | bench | docs; the rules behind them are in tools/make/.
.DEFAULT_GOAL := help
.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

include tools/make/env.mk
include tools/make/test.mk
include tools/make/cuda.mk
include tools/make/run.mk
include tools/make/cluster.mk
