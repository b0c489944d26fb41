#!/bin/sh
# Many ranks send to one, on simulated machines: what docs/evaluation/incast.md shows. Prints one JSON object for each run.
# Usage: incast.sh PELAGO [SENDERS…]; with 65,536 senders it takes hours of one processor.
set -eu
pelago=$1; shift
for senders in ${*:-64 1024 16384 65536}; do
    for kind in rc ud tofu; do
        case $kind in
        rc) machine='fat-tree-ndr --set rail.receive.slots=256' ;;
        ud) machine='fat-tree-ndr --set rail.receive.slots=256 --set rail.kind=infiniband-ud' ;;
        tofu) machine='torus-tofud --set rail.receive.slots=256' ;;
        esac
        for method in eager rendezvous limit acquire acquire-proxy acquire-split:4 acquire-split:16 acquire-borrow:16; do
            "$pelago" sim -n $((senders + 3)) --per-node 2 --quiet --machine $machine incast --method $method --senders "$senders" \
                --messages 4 --bytes 64 --slots 256 --work-ns 200 --match-ns 200 --patience-ms 20 --bystander --format json |
                sed "s/^{/{\"machine\":\"$kind\",/"
        done
    done
done
