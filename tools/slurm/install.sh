#!/usr/bin/env bash
# Install SLURM, munge and PMIx from Debian's or Ubuntu's packages, unless they are there.
set -euo pipefail
if ! command -v slurmctld > /dev/null || ! command -v munged > /dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || true
  # another installation may be running: wait for the lock
  apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends slurm-wlm munge libpmix2 > /dev/null
fi
# SLURM's plugin opens the unversioned name, which only the development package has
pmix=$(ls /usr/lib/*/pmix2/lib/libpmix.so.2 2> /dev/null || true)
if [ -n "$pmix" ] && [ ! -e "${pmix%.2}" ]; then ln -s libpmix.so.2 "${pmix%.2}"; fi
