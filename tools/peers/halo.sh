#!/bin/sh
# Halos of Open MPI and Pelago by turns on this machine, two ranks; prints medians. By shared memory, or by UDP and TCP if TRANSPORT is udp.
# Usage: halo.sh [TURNS] [PELAGO] [EDGES] [TRANSPORT]
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago} edges=${3:-64 128 256} transport=${4:-shm}
if [ "$transport" = udp ]; then btl=self,tcp; else btl=self,vader; fi
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc -O3 -march=native -Wall -Wextra -o "$work/halo" "$here/halo.c"
for turn in $(seq "$turns"); do
    for edge in $edges; do
        "$pelago" bench halo -n 2 --transport "$transport" --edge "$edge" --format json 2>> "$work/chosen"
        mpirun --allow-run-as-root --mca btl "$btl" -n 2 "$work/halo" "$edge"
    done
done > "$work/all"
awk -F'[:,{}"]+' '/^{/ { for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["bytes"], v["transport"], v["median_ns"], v["plane"]; delete v }' "$work/all" |
    sort -k1n -k4 -k2,2 -k3g | awk '{ key = sprintf("%8d B %-12s %-8s", $1, $4 " " $5, $2); if (key != last) show(); last = key; n++; t[n] = $3 }
        function show() { if (n) printf "%s %12.2f us\n", last, t[int((n + 1) / 2)] / 1e3; n = 0 } END { show() }'
