#!/bin/bash
# A job over several nodes:  sbatch --nodes=8 slurm/cpu_nodes.sh train.py ARGUMENTS
# Worker names and ranks come from MPI: no addresses, no ports.
#SBATCH --job-name=mpigrad
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

source "$SLURM_SUBMIT_DIR/slurm/site.sh"
python -m mpigrad --version
"${LAUNCHER[@]}" python "$@"
