#!/bin/sh
# Shared variables of Pelago beside Global Arrays and a mutex that processes share, by turns on this machine; prints medians.
# Usage: shared.sh [TURNS] [PELAGO]. Needs: apt-get install openmpi-bin libopenmpi-dev libglobalarrays-dev libarmci-mpi-dev libscalapack-openmpi-dev
# liblapack-dev libblas-dev gfortran; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
libraries='-lga-openmpi -larmci-openmpi -lscalapack-openmpi -llapack -lblas -lgfortran -lpthread -lm'
mpicc -O2 -Wall -Wextra -o "$work/shared" "$here/shared.c" ${GA_LIBRARIES:-$libraries}
mpi="mpirun --allow-run-as-root --oversubscribe --mca btl self,vader"
for turn in $(seq "$turns"); do
    "$pelago" bench acquire hand_over --format json
    "$pelago" bench fairness -n 4 --format json
    $mpi -n 2 "$work/shared"
    $mpi --mca mpi_yield_when_idle 1 -n 4 "$work/shared" fairness
done > "$work/all"
awk -F'[:,{}"]+' '/^{/ { for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["name"], v["ranks"], v["bytes"] + 0, v["transport"], v["median_ns"], v["name"] == "fairness" ? v["ratio"] : "-"; delete v }' "$work/all" |
    sort -k1,1 -k3n -k4,4 -k5g | awk '{ key = sprintf("%-10s %2d ranks %6d B %-14s", $1, $2, $3, $4); if (key != last) show(); last = key; n++; t[n] = $5; r[n] = $6 }
        function show() { if (n) printf "%s %12.1f ns  %s\n", last, t[int((n + 1) / 2)], r[int((n + 1) / 2)]; n = 0 } END { show() }'
