#!/bin/sh
# Many ranks send to one, on simulated machines: what docs/evaluation/incast.md shows. Prints one JSON object for each run.
# Usage: incast.sh PELAGO [SENDERS…]; METHODS and MACHINES choose a part. 65,536 senders take hours of one core.
set -eu
pelago=$1; shift
told=$(mktemp); trap 'rm -f "$told"' EXIT
for senders in ${*:-64 1024 16384 65536}; do
    for kind in ${MACHINES:-rc ud tofu}; do
        case $kind in
        rc) machine='fat-tree-ndr --set rail.receive.slots=256' ;;
        ud) machine='fat-tree-ndr --set rail.receive.slots=256 --set rail.kind=infiniband-ud' ;;
        tofu) machine='torus-tofud --set rail.receive.slots=256' ;;
        esac
        for method in ${METHODS:-eager rendezvous limit acquire acquire+waiters acquire-proxy acquire-split:4 acquire-split:16 \
            acquire-split:16+waiters acquire-borrow:16}; do
            # A place for each sender that waits, or as many as slots.
            case $method in *+waiters) waiters=$senders ;; *) waiters=0 ;; esac
            line=$("$pelago" sim -n $((senders + 3)) --per-node 2 --heap 1M --machine $machine incast --method "${method%+waiters}" \
                --waiters $waiters --senders "$senders" --messages 4 --bytes 64 --slots 256 --work-ns 200 --match-ns 200 \
                --patience-ms 20 --bystander --format json 2>"$told") ||
                line="{\"program\":\"incast\",\"method\":\"${method%+waiters}\",\"senders\":$senders,\"waiters\":$waiters,\"fault\":\"$(
                    sed -n 's/.*pelago: \([a-z ]*\): every rank.*/\1/p' "$told")\"}"
            # What the simulator tells of the atomic unit that worked longest.
            unit=$(sed -n 's/.*unit, of node \([0-9]*\), worked on \([0-9]*\) for \([0-9.]*\) us/"atomics_node":\1,"atomics_most":\2,"atomics_busy_us":\3/p' "$told")
            echo "{\"machine\":\"$kind\",${unit:+$unit,}${line#\{}"
        done
    done
done
