#!/usr/bin/env bash
# Start munged, slurmctld and four slurmd on this machine, without systemd: tools/slurm/up.sh DIRECTORY
# All state is below DIRECTORY; the daemons are ended by tools/slurm/down.sh DIRECTORY.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
mkdir -p "$dir"/{state,run,log,munge,spool/n1,spool/n2,spool/n3,spool/n4,tmp/n1,tmp/n2,tmp/n3,tmp/n4}
for gpu in gpu0 gpu1; do [ -e "$dir/$gpu" ] || mknod "$dir/$gpu" c 1 3; done
sed -e "s|@DIR@|$dir|g" -e "s|@HOST@|$(hostname -s)|g" "$here/slurm.conf.in" > "$dir/slurm.conf"
# copies of /dev/null stand for GPUs, so that SLURM binds tasks to devices where there are none
echo "Name=gpu File=$dir/gpu[0-1]" > "$dir/gres.conf"
export SLURM_CONF=$dir/slurm.conf

start_munge() {
  install -d -o munge -g munge -m 0755 "$dir/munge" /run/munge
  [ -s /etc/munge/munge.key ] || { head -c 1024 /dev/urandom > /etc/munge/munge.key; }
  chown munge:munge /etc/munge/munge.key && chmod 0400 /etc/munge/munge.key
  rm -f /run/munge/munge.socket.2*
  setpriv --reuid=munge --regid=munge --clear-groups munged --force \
    --pid-file="$dir/munge/munged.pid" --log-file="$dir/munge/munged.log" --seed-file="$dir/munge/seed"
}

munge -n > /dev/null 2>&1 || start_munge
slurmctld -f "$SLURM_CONF"
for node in n1 n2 n3 n4; do slurmd -f "$SLURM_CONF" -N "$node"; done
for _ in $(seq 100); do
  [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = 4 ] && exit 0
  sleep 0.2
done
echo "the nodes are not idle after 20 s:" >&2
sinfo >&2 || true
tail -n 20 "$dir"/log/*.log >&2
exit 1
