#!/usr/bin/env bash
# Remove the "hosts" that tools/hosts/up.sh has made.
for name in mg1 mg2 mg3 mg4 mgsw; do
  if [ -e "/run/netns/$name" ]; then ip netns del "$name"; fi
done
exit 0
