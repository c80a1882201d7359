#!/usr/bin/env bash
# What MPI's launchers take for ssh: tools/hosts/ssh.sh [OPTIONS] HOST COMMAND
while [ "${1#-}" != "$1" ]; do
  case $1 in
    -l | -p | -o) shift 2 ;;
    *) shift ;;
  esac
done
host=$1
shift
# ssh does not pass the environment on; the tests' launcher relies on it, so only where it is asked for
clean=()
if [ -n "${HOSTS_CLEAN:-}" ]; then clean=(env -i PATH="$PATH" HOME="$HOME"); fi
exec "${clean[@]}" "$(dirname "$0")/on.sh" "$host" /bin/sh -c "$*"
