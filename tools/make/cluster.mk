# Clusters on this one machine: SLURM with four nodes, and "hosts" joined by a network. Both need root.
SLURM_DIR := /tmp/mpigrad-slurm

.PHONY: test-slurm test-hosts
test-slurm: env-ompi env-mpich  ## submit every batch script to a real SLURM (installs it; root)
	@tools/slurm/install.sh
	@tools/slurm/up.sh $(SLURM_DIR)
	@SLURM_CONF=$(SLURM_DIR)/slurm.conf $(PYTHON) tools/slurm/test.py $(OMPI) $(MPICH); code=$$?; \
	  tools/slurm/down.sh $(SLURM_DIR); exit $$code

test-hosts: env-ompi env-mpich  ## the MPI tests over TCP between network namespaces, and a cut link (root)
	@tools/hosts/test.sh $(OMPI) $(MPICH)
