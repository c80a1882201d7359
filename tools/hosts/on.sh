#!/usr/bin/env bash
# Run a command on a "host": tools/hosts/on.sh mg2 COMMAND...
# The host has its own network, name, System V IPC, /dev/shm and hosts file. (`ip netns exec` would hide /sys.)
host=$1
shift
# shellcheck disable=SC2016  # the inner shell expands them
exec nsenter --net="/run/netns/$host" unshare --uts --ipc --mount sh -c '
  hostname "$0"
  mount -t tmpfs none /dev/shm
  { echo "127.0.0.1 localhost"; for i in 1 2 3 4; do echo "10.78.0.$i mg$i"; done; } > /dev/shm/.hosts
  mount --bind /dev/shm/.hosts /etc/hosts
  exec "$@"' "$host" "$@"
