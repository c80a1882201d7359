#!/usr/bin/env bash
# The MPI tests with every rank on a "host" of its own, a job of PBS, and a cut link: tools/hosts/test.sh VENV...
set -u
here=$(cd "$(dirname "$0")" && pwd)
failed=0
log=$(mktemp)

end_all() {
  for host in mg1 mg2 mg3 mg4; do ip netns pids "$host" 2> /dev/null | xargs -r kill -9; done
}

trap 'end_all; "$here/down.sh"; rm -f "$log"' EXIT
for venv in "$@"; do
  "$here/up.sh" || exit 1
  echo "== $venv: tests on 4 hosts"
  "$here/mpirun.sh" "$venv" 4 1200 -m pytest -q --color=no -p no:cacheprovider --with-mpi -m "mpi and not gpu" tests || failed=1
  echo "== $venv: mpigrad run in an allocation of PBS"
  "$here/pbs.sh" "$venv" || failed=1
  echo "== $venv: a cut link"
  # ranks behind the cut are out of their launcher's reach and keep its output open: a file, and end what is left
  "$here/mpirun.sh" "$venv" 2 30 "$here/cut.py" > "$log" 2>&1
  end_all
  grep -v '^ *$' "$log" | tail -n 15
  grep -q '^cut: ok' "$log" || failed=1
  if [ -e "$venv/bin/prterun" ]; then
    options=$("$venv/bin/python" -c 'from mpigrad._launch.command import SURVIVING; print(*SURVIVING)')
    for how in cut dead; do
      echo "== $venv: a host is lost ($how), and the other ranks survive"
      "$here/up.sh" || exit 1
      HOSTS_OPTIONS="$options" MPIGRAD_SURVIVE=1 MPIGRAD_HEARTBEAT=2 \
        "$here/mpirun.sh" "$venv" 3 30 "$here/host_lost.py" "$how" > "$log" 2>&1
      end_all
      grep '^after .* was lost' "$log"
      [ "$(grep -c 'survived the loss of a host' "$log")" = 2 ] || { tail -n 15 "$log"; failed=1; }
    done
  fi
done
exit $failed
