#!/bin/bash
# The RPC benchmark on 1, 2, 4, ... nodes of the allocation:  sbatch --nodes=8 slurm/bench_scaling.sh [BENCH OPTIONS]
# Prints a table for each number of nodes, and writes its numbers to bench-JOB/nodes-N.json.
#SBATCH --job-name=mpigrad-bench
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=00:30:00
#SBATCH --output=%x-%j.out

set -euo pipefail
# sbatch runs a copy of this file, so ask SLURM where the original is: site.sh is beside it
here=$(dirname "$0")
[ -f "$here/site.sh" ] || here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | grep -oP '^ *Command=\K.*?\.sh')")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$here/site.sh"
results=bench-$SLURM_JOB_ID
per_node=$((SLURM_NTASKS / SLURM_JOB_NUM_NODES))
mkdir -p "$results"

for ((nodes = 1; nodes <= SLURM_JOB_NUM_NODES; nodes *= 2)); do
  ranks=$((nodes * per_node))
  echo "== $nodes node(s), $ranks ranks"
  if [ "$LAUNCH" = srun ]; then
    part=("${LAUNCHER[@]}" --nodes="$nodes" --ntasks="$ranks")
  else
    part=(mpiexec -n "$ranks")
  fi
  export MPIGRAD_EXPECTED_SIZE=$ranks
  "${part[@]}" mpigrad bench --json "$results/nodes-$nodes.json" "$@"
done
