#!/bin/bash
# A job that goes on when ranks or nodes are lost (Open MPI 5):  sbatch slurm/survive.sh train.py ARGUMENTS
# SPARES of the tasks (default: 1) wait, and take the places of lost ranks. The program should exit with code 75 when too few ranks are left.
# Only then, or when no rank is left, the job is put back into the queue; when it runs again, it should go on from its checkpoint.
#SBATCH --job-name=mpigrad-survive
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --no-kill
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

set -euo pipefail
# sbatch runs a copy of this file, so ask SLURM where the original is: site.sh is beside it
here=$(dirname "$0")
[ -f "$here/site.sh" ] || here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | grep -oP '^ *Command=\K.*?\.sh')")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$here/site.sh"
: "${1:?give a program: sbatch survive.sh train.py ARGUMENTS}"
echo "== start number $((${SLURM_RESTART_COUNT:-0} + 1))"

# Open MPI starts one daemon on each node by srun, which must not end the others when a node is lost
export PRTE_MCA_plm_slurm_args="--no-kill --kill-on-bad-exit=0"
spares=${SPARES:-1}
code=0
mpigrad run --survive --spares "$spares" --heartbeat "${HEARTBEAT:-10}" -n $((SLURM_NTASKS - spares)) "$@" || code=$?

if [ "$code" = 75 ] || [ "$code" -gt 128 ]; then
  echo "== too few ranks are left; back to the queue"
  scontrol requeue "$SLURM_JOB_ID"
  sleep 60   # SLURM ends this script while it sleeps; a script that returned here would count as finished
fi
exit "$code"
