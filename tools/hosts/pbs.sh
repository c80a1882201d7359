#!/usr/bin/env bash
# `mpigrad run` without -n in the allocation of a PBS job, two slots on each of two "hosts": tools/hosts/pbs.sh VENV
# Ranks elsewhere are started by something like ssh, which does not pass the environment on.
set -u
here=$(cd "$(dirname "$0")" && pwd)
venv=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'mg1\nmg1\nmg2\nmg2\n' > "$work/nodes"
cat > "$work/where.py" << 'PROGRAM'
import os, socket, sys
from mpi4py.MPI import COMM_WORLD as world
print(f"rank {world.rank} of {world.size} on {socket.gethostname()} log {os.environ.get('MPIGRAD_LOG')} {sys.argv[1:]}\n", end="", flush=True)
PROGRAM
export PBS_JOBID=1.here PBS_ENVIRONMENT=PBS_BATCH PBS_NODEFILE=$work/nodes
export PRTE_MCA_plm_ssh_agent=$here/ssh.sh HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$here/ssh.sh HOSTS_CLEAN=1
export MPIGRAD_LOG=info PYTHONPATH=$PWD
expected=$(for rank in 0 1 2 3; do echo "rank $rank of 4 on mg$((rank / 2 + 1)) log info ['a b']"; done)
seen=$(timeout -k 5 100 "$here/on.sh" mg1 "$venv/bin/python" -m mpigrad run "$work/where.py" "a b" 2>&1 | grep . | sort)
if [ "$seen" = "$expected" ]; then
  echo "pbs: ok"
else
  printf 'pbs: expected\n%s\nnot\n%s\n' "$expected" "$seen"
  exit 1
fi
