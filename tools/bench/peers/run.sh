#!/bin/sh
# Open MPI and Pelago by turns on this machine; prints the median of each. Usage: run.sh [TURNS] [PELAGO]
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc -O2 -Wall -Wextra -o "$work/openmpi" "$here/openmpi.c"
mpi() { mpirun --allow-run-as-root --mca osc sm --mca btl self,vader "$@"; }
for turn in $(seq "$turns"); do
    "$pelago" bench put get fetch_add compare_swap visible rate barrier --bytes 8,64K,1M --format json
    mpi -n 2 "$work/openmpi"
    for ranks in 4 8 16; do mpi -n $ranks --oversubscribe --mca mpi_yield_when_idle 1 "$work/openmpi" barrier; done
done > "$work/all"
awk -F'[:,{}"]+' '{ for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["name"], v["ranks"], v["bytes"] + 0, v["transport"], v["median_ns"]; delete v }' "$work/all" |
    sort -k1,1 -k2n -k3n -k4,4 -k5g | awk '{ key = sprintf("%-13s %2d ranks %8d B %8s", $1, $2, $3, $4); if (key != last) show(); last = key; n++; t[n] = $5 }
        function show() { if (n) printf "%s %12.2f ns\n", last, t[int((n + 1) / 2)]; n = 0 } END { show() }'
