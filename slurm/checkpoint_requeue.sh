#!/bin/bash
# A job that outlives its time limit:  sbatch slurm/checkpoint_requeue.sh slurm/train_checkpoint.py ARGUMENTS
# 90 seconds before the time limit SLURM sends the signal USR1 to this script, which sends it on to the program. The program saves a
# checkpoint and exits with code 75. Then this script puts the job back into the queue; when it runs again, it goes on from the checkpoint.
#SBATCH --job-name=mpigrad-long
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@90
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

set -euo pipefail
# sbatch runs a copy of this file, so ask SLURM where the original is: site.sh is beside it
here=$(dirname "$0")
[ -f "$here/site.sh" ] || here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | grep -oP '^ *Command=\K.*?\.sh')")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$here/site.sh"
: "${1:?give a program: sbatch checkpoint_requeue.sh train.py ARGUMENTS}"
echo "== start number $((${SLURM_RESTART_COUNT:-0} + 1))"

"${LAUNCHER[@]}" python "$@" --checkpoint "checkpoint-$SLURM_JOB_ID" &
job=$!
asked=
trap 'asked=yes; kill -USR1 $job || true' USR1
# `wait` returns early when a trapped signal arrives, so wait until the program has really ended
code=0
while kill -0 $job 2> /dev/null; do
  code=0
  wait $job || code=$?
done

# When the first rank exits with 75, srun -K kills ranks that are still exiting, and then returns the code of a signal (above 128)
if [ "$code" = 75 ] || { [ "$asked" ] && [ "$code" -gt 128 ]; }; then
  echo "== saved; back to the queue"
  scontrol requeue "$SLURM_JOB_ID"
  sleep 60   # SLURM ends this script while it sleeps; a script that returned here would count as finished
fi
exit "$code"
