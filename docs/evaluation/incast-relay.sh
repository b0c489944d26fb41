#!/bin/sh
# One counter without and with relays, on simulated machines: what docs/evaluation/incast.md shows under Relays. Prints one JSON object for each run; a minute of a core.
# Usage: incast-relay.sh PELAGO
set -eu
pelago=${1:?give the path of the pelago command}

# machine of the table, senders, slots, method
measure() {
    case $1 in rc) machine=fat-tree-ndr ;; tofu) machine=torus-tofud ;; esac
    "$pelago" sim -n $(($2 + 3)) --quiet --per-node 2 --heap 1M --machine $machine --set rail.receive.slots=256 incast --method "$4" --senders "$2" \
        --messages 4 --bytes 64 --slots "$3" --work-ns 200 --match-ns 200 --patience-ms 20 --bystander --format json | sed "s/^{/{\"machine\":\"$1\",/"
}

for kind in rc tofu; do
    for method in acquire acquire-relay:8 acquire-relay:32; do
        measure $kind 1024 256 $method
        measure $kind 4096 256 $method
    done
done
for method in acquire acquire-relay:32; do
    measure rc 1024 16 $method
done
