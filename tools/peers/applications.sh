#!/bin/sh
# The programs `gups`, `is`, `cg`, `uts` and `bfs` of Pelago and our counterparts by Open MPI's one-sided operations, by turns on this machine; prints the
# median of each (milliseconds, or millions a second), the ratio (above 1: Pelago is ahead), and in how many programs it is ahead. Without `osc pt2pt` the
# windows of Open MPI would be shared memory on one host, also with the transport of messages over TCP.
# Usage: applications.sh [TURNS] [PELAGO] [RANKS] [TRANSPORTS]
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago} ranks=${3:-2} transports=${4:-shm udp}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for program in gups is cg uts bfs; do mpicc.openmpi -O3 -Wall -Wextra -o "$work/$program" "$here/$program.c" -lm; done
both() { # both PROGRAM "ARGUMENTS OF PELAGO" "ARGUMENTS OF THE COUNTERPART"
    echo "pelago $transport $("$pelago" run -n "$n" --heap 256M --transport "$transport" "$1" $2)"
    echo "openmpi $transport $(mpirun.openmpi --allow-run-as-root -n "$n" $yield --mca pml ob1 --mca $mca "$work/$1" $3)"
}
for turn in $(seq "$turns"); do for n in $ranks; do for transport in $transports; do
    if [ "$transport" = udp ]; then mca='osc pt2pt --mca btl self,tcp --mca btl_tcp_if_include lo'; else mca='osc sm --mca btl self,vader'; fi
    yield=; [ "$n" -gt 2 ] && yield='--oversubscribe --mca mpi_yield_when_idle 1'
    both gups '--log-words 14 --updates 4' '14 4'
    both is W W
    both cg W W
    both uts '--root 20000' 20000
    both bfs '--scale 14 --roots 4' '14 4'
done; done; done > "$work/all"
grep -vE ' (wrong 0|verified|trees right)$| least [0-9]+$' "$work/all" >&2 && exit 1
# Trees and graphs are the same.
awk '$3 == "uts" || $3 == "bfs" { what = $3 == "uts" ? $7 " " $9 " " $11 : $9 " " $11 " " $13
       if (($3, $5) in seen && seen[$3, $5] != what) { print "different results: " $0 > "/dev/stderr"; exit 1 } seen[$3, $5] = what }' "$work/all"
awk '{ for (i = 1; i < NF; i++) { if ($i == "ranks") n = $(i + 1); if ($i ~ /^(ms|millions-per-s|per-rank-millions)$/) { unit = $i; t = $(i + 1) } }
       print $3, n, $2, unit, $1, t }' "$work/all" | sort -k1,5 -k6g | awk '{ cell = $1 " " $2 " " $3 " " $4
        if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell } k = ++count[cell, $5]; t[cell, $5, k] = $6 }
    function middle(cell, who) { return t[cell, who, int((count[cell, who] + 1) / 2)] }
    END { printf "%-8s %5s %-4s %-18s %12s %12s %7s\n", "program", "ranks", "", "unit", "Pelago", "Open MPI", "ratio"
        for (i = 1; i <= cells; i++) { split(order[i], c, " "); p = middle(order[i], "pelago"); o = middle(order[i], "openmpi")
            ratio = c[4] == "ms" ? o / p : p / o; all[c[3]]++; ahead[c[3]] += ratio >= 1
            printf "%-8s %5d %-4s %-18s %12.3f %12.3f %7.2f\n", c[1], c[2], c[3], c[4], p, o, ratio }
        for (on in all) printf "%s: ahead in %d of %d\n", on, ahead[on], all[on] }'
