#!/bin/bash
# A job on the cores of one node:  sbatch slurm/cpu_one_node.sh train.py ARGUMENTS
#SBATCH --job-name=mpigrad
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --time=00:30:00
#SBATCH --output=%x-%j.out

source "$SLURM_SUBMIT_DIR/slurm/site.sh"
"${LAUNCHER[@]}" python "$@"
