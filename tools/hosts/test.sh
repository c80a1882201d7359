#!/usr/bin/env bash
# The MPI tests with every rank on a "host" of its own, then a cut link: tools/hosts/test.sh VENV...
set -u
here=$(cd "$(dirname "$0")" && pwd)
failed=0
trap '"$here/down.sh"' EXIT
for venv in "$@"; do
  "$here/up.sh" || exit 1
  echo "== $venv: tests on 4 hosts"
  "$here/mpirun.sh" "$venv" 4 500 -m pytest -q --color=no -p no:cacheprovider --with-mpi -m mpi tests || failed=1
  echo "== $venv: a cut link"
  output=$("$here/mpirun.sh" "$venv" 2 60 "$here/cut.py" 2>&1)
  echo "$output" | grep -v '^ *$' | tail -n 15
  echo "$output" | grep -q '^cut: ok' || failed=1
  # ranks behind the cut are out of their launcher's reach: end what still runs on the hosts
  for host in mg1 mg2 mg3 mg4; do ip netns pids "$host" 2> /dev/null | xargs -r kill -9; done
done
exit $failed
