#!/bin/sh
# Counters placed by topology beside other placements, on simulated machines: what docs/evaluation/incast.md shows. Prints one JSON object for each run.
# Usage: incast-topology.sh PELAGO [SENDERS…]. 65,536 senders take some minutes of a core for each run.
set -eu
here=$(dirname "$0")
METHODS=${METHODS:-acquire acquire+waiters acquire-proxy acquire-split:4 acquire-split:16 acquire-auto}
MACHINES=${MACHINES:-rc tofu}
export METHODS MACHINES
pelago=$1; shift
exec sh "$here/incast.sh" "$pelago" ${*:-1024 4096 16384 65536}
