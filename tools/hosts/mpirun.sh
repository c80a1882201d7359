#!/usr/bin/env bash
# Run Python with one rank on each of N "hosts": tools/hosts/mpirun.sh VENV N SECONDS ARGS...
# HOSTS_OPTIONS has more options for mpiexec.
set -u
here=$(cd "$(dirname "$0")" && pwd)
venv=$(realpath "$1") ranks=$2 seconds=$3
shift 3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}
hosts=$(seq -s, -f 'mg%g:1' 1 "$ranks")
if [ -e "$venv/bin/prterun" ]; then
  # without --bind-to none every rank is bound to the same core: each "host" thinks that it is alone
  options=(--prtemca plm ssh --prtemca plm_ssh_agent "$here/ssh.sh" --host "$hosts" --bind-to none)
else
  options=(-launcher ssh -launcher-exec "$here/ssh.sh" -hosts "$hosts")
fi
read -ra more <<< "${HOSTS_OPTIONS:-}"
exec timeout -k 5 "$seconds" "$here/on.sh" mg1 "$venv/bin/mpiexec" "${options[@]}" "${more[@]}" -n "$ranks" \
  "$venv/bin/python" "$@"
