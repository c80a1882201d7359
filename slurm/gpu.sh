#!/bin/bash
# One rank for each GPU, each bound to its own:  sbatch --nodes=4 slurm/gpu.sh train.py --device cuda
# Each rank uses "cuda:0": it sees only its own GPU (CUDA_VISIBLE_DEVICES).
#SBATCH --job-name=mpigrad-gpu
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

set -euo pipefail
# sbatch runs a copy of this file, so ask SLURM where the original is: site.sh is beside it
here=$(dirname "$0")
[ -f "$here/site.sh" ] || here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | grep -oP '^ *Command=\K.*?\.sh')")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$here/site.sh"
: "${1:?give a program: sbatch gpu.sh train.py ARGUMENTS}"

# srun gives each rank its own GPU. With mpirun every rank sees all GPUs of the node; the Python code below chooses one, by the number of the
# rank on its node, and then runs the program.
if [ "$LAUNCH" = srun ]; then
  LAUNCHER+=(--gpus-per-task=1 --gpu-bind=single:1)
else
  set -- -c 'import os, runpy, sys
local = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK", os.environ.get("MPI_LOCALRANKID", "0")))
os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[local]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$@"
fi
"${LAUNCHER[@]}" python "$@"
