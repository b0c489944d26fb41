#!/bin/sh
# Collective operations without a plan and those of Open MPI by turns on this machine, over shared memory and over the loopback network (Open MPI:
# vader, tcp); prints the median of each cell, the ratio (above 1: Pelago is ahead), and in how many cells of 64 KiB and 1 MiB it is at or ahead.
# Usage: one-shot.sh [TURNS] [PELAGO] [RANKS] [TRANSPORTS] [SECONDS]; Open MPI takes up to SECONDS for each cell.
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago} ranks=${3:-2 4 8} transports=${4:-shm udp} seconds=${5:-0.3}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc.openmpi -O2 -Wall -Wextra -o "$work/openmpi" "$here/collectives.c"
for turn in $(seq "$turns"); do for n in $ranks; do for transport in $transports; do
    if [ "$transport" = udp ]; then btl='self,tcp --mca btl_tcp_if_include lo'; else btl=self,vader; fi
    yield=; [ "$n" -gt 2 ] && yield='--oversubscribe --mca mpi_yield_when_idle 1'
    "$pelago" bench one_shot -n "$n" --transport "$transport" --format json | sed "s/^/pelago $transport /"
    mpirun.openmpi --allow-run-as-root -n "$n" $yield --mca pml ob1 --mca btl $btl "$work/openmpi" openmpi "$seconds" 8 65536 1048576 |
        sed "s/^/openmpi $transport /"
done; done; done > "$work/all"
awk '{ who = $1; on = $2; sub(/^[^{]*/, ""); n = split($0, f, /[:,{}"]+/); for (i = 2; i < n; i += 2) v[f[i]] = f[i + 1]
       print v["ranks"], on, v["name"], v["bytes"] + 0, who, v["median_ns"]; delete v }' "$work/all" |
    sort -k1n -k2,2 -k3,3 -k4n -k5,5 -k6g | awk '
        { cell = $1 " " $2 " " $3 " " $4; if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell } k = ++n[cell, $5]; t[cell, $5, k] = $6 }
        function middle(cell, who) { return t[cell, who, int((n[cell, who] + 1) / 2)] }
        END {
            printf "%5s %-4s %-16s %9s %13s %13s %7s\n", "ranks", "", "operation", "bytes", "Pelago us", "Open MPI us", "ratio"
            for (i = 1; i <= cells; i++) {
                split(order[i], c, " "); p = middle(order[i], "pelago"); o = middle(order[i], "openmpi")
                if (c[4] > 8) { all++; ahead += p <= o } else { few++; first += p <= o }
                printf "%5d %-4s %-16s %9d %13.2f %13.2f %7.2f\n", c[1], c[2], c[3], c[4], p / 1e3, o / 1e3, o / p
            }
            printf "at or ahead in %d of %d cells of 64 KiB and 1 MiB, in %d of %d of 8 bytes\n", ahead, all, first, few
        }'
