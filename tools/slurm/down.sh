#!/usr/bin/env bash
# End the daemons that tools/slurm/up.sh DIRECTORY has started, by their process ids.
dir=$1
export SLURM_CONF=$dir/slurm.conf
scancel --full --user=root > /dev/null 2>&1
for file in "$dir"/run/slurmd.n?.pid "$dir"/run/slurmctld.pid; do
  if [ -f "$file" ]; then kill "$(cat "$file")" 2> /dev/null; fi
done
for _ in $(seq 50); do
  ls "$dir"/run/*.pid > /dev/null 2>&1 || break
  sleep 0.2
done
if [ -f "$dir/munge/munged.pid" ]; then kill "$(cat "$dir/munge/munged.pid")" 2> /dev/null; fi
exit 0
