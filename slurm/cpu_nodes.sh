#!/bin/bash
# A job over several nodes:  sbatch --nodes=8 slurm/cpu_nodes.sh train.py ARGUMENTS
# Worker names and ranks come from MPI: no addresses, no ports.
#SBATCH --job-name=mpigrad
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

set -euo pipefail
# sbatch runs a copy of this file, so ask SLURM where the original is: site.sh is beside it
here=$(dirname "$0")
[ -f "$here/site.sh" ] || here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | grep -oP '^ *Command=\K.*?\.sh')")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$here/site.sh"
: "${1:?give a program: sbatch cpu_nodes.sh train.py ARGUMENTS}"
mpigrad --version
"${LAUNCHER[@]}" python "$@"
