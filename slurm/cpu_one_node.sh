#!/bin/bash
# A job on the cores of one node:  sbatch slurm/cpu_one_node.sh train.py ARGUMENTS
#SBATCH --job-name=mpigrad
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --time=00:30:00
#SBATCH --output=%x-%j.out

set -euo pipefail
# sbatch runs a copy of this file, so ask SLURM where the original is: site.sh is beside it
here=$(dirname "$0")
[ -f "$here/site.sh" ] || here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | grep -oP '^ *Command=\K.*?\.sh')")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$here/site.sh"
: "${1:?give a program: sbatch cpu_one_node.sh train.py ARGUMENTS}"
"${LAUNCHER[@]}" python "$@"
