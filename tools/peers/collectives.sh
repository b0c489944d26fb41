#!/bin/sh
# Collective operations of Pelago, Open MPI and MPICH by turns on this machine; prints the median of each cell, how Pelago compares with the
# better of the others, and in how many cells it is at or ahead. Usage: collectives.sh [TURNS] [PELAGO] [RANKS…]
# Needs: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev; cargo build --release
set -eu
turns=${1:-3} pelago=${2:-pelago}
shift $(($# < 2 ? $# : 2))
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc.openmpi -O2 -Wall -Wextra -o "$work/openmpi" "$here/collectives.c"
mpicc.mpich -O2 -Wall -Wextra -o "$work/mpich" "$here/collectives.c"
openmpi() {
    yield=; [ "$1" -gt 2 ] && yield='--oversubscribe --mca mpi_yield_when_idle 1'
    mpirun.openmpi --allow-run-as-root -n "$1" $yield --mca btl self,vader "$work/openmpi" openmpi 0.3
}
for turn in $(seq "$turns"); do
    for ranks in ${*:-2 4 8 16}; do
        "$pelago" bench collectives -n "$ranks" --format json 2>> "$work/chosen"
        openmpi "$ranks"
        # It never yields: with more ranks than cores a message takes turns of the scheduler.
        timeout 80 mpiexec.mpich -n "$ranks" "$work/mpich" mpich 0.1 || true
    done
done > "$work/all"
awk -F'[:,{}"]+' '/^{/ { for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["name"], v["ranks"], v["bytes"] + 0, v["transport"], v["median_ns"]; delete v }' "$work/all" |
    sort -k2n -k1,1 -k3n -k4,4 -k5g | awk '
        { cell = $2 " " $1 " " $3; if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell } n[cell, $4]++; t[cell, $4, n[cell, $4]] = $5 }
        function middle(cell, who) { return n[cell, who] ? t[cell, who, int((n[cell, who] + 1) / 2)] : 0 }
        END {
            printf "%5s %-16s %9s %13s %13s %13s %7s\n", "ranks", "operation", "bytes", "Pelago us", "Open MPI us", "MPICH us", "ratio"
            for (i = 1; i <= cells; i++) {
                split(order[i], c, " "); p = middle(order[i], "shm"); o = middle(order[i], "openmpi"); m = middle(order[i], "mpich")
                best = (m && m < o || !o) ? m : o
                if (best) { all++; if (p <= best) ahead++ }
                printf "%5d %-16s %9d %13.2f %13.2f %13.2f %7.2f\n", c[1], c[2], c[3], p / 1e3, o / 1e3, m / 1e3, best ? best / p : 0
            }
            printf "at or ahead in %d of %d cells\n", ahead, all
        }'
