#!/bin/sh
# How much longer a transfer of others takes while many ranks of a Tofu-like machine send to one, and the receiver comes late: what
# docs/evaluation/incast.md shows. Prints one JSON object for each run. Usage: incast-stall.sh PELAGO
set -eu
for bytes in 64 1024 8192; do
    for sleep in 0 1; do
        for method in eager acquire; do
            line=$("$1" sim -n 515 --per-node 2 --quiet --machine torus-tofud --set rail.receive.slots=256 incast --method $method --waiters 512 \
                --senders 512 --messages 16 --bytes $bytes --slots 256 --work-ns 200 --match-ns 200 --patience-ms 20 --bystander \
                --sleep-ms $sleep --format json)
            echo "{\"machine\":\"tofu\",${line#\{}"
        done
    done
done
