#!/usr/bin/env bash
# Make four "hosts" mg1..mg4: network namespaces on a bridge that has a namespace of its own (mgsw). Needs root.
# Messages between them cross TCP over veth pairs; nothing of the machine's own network is touched.
set -euo pipefail
"$(dirname "$0")/down.sh"
ip netns add mgsw
ip -n mgsw link add br0 type bridge
ip -n mgsw link set br0 up
for i in 1 2 3 4; do
  ip netns add "mg$i"
  ip link add eth0 netns "mg$i" type veth peer name "v$i" netns mgsw
  ip -n mgsw link set "v$i" master br0 up
  ip -n "mg$i" addr add "10.78.0.$i/24" dev eth0
  ip -n "mg$i" link set eth0 up
  ip -n "mg$i" link set lo up
done
