#!/bin/sh
# The NAS programs `is` and `cg` of Pelago and of Open MPI's one-sided operations by turns on this machine; prints the median milliseconds of each
# and their ratio. Without `osc pt2pt` the windows of Open MPI would be shared memory on one host, also with the transport of messages over TCP. Usage: nas.sh [TURNS] [PELAGO] [CLASSES] [RANKS] [TRANSPORTS]
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago} classes=${3:-S W A} ranks=${4:-2 4} transports=${5:-shm udp}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for program in is cg; do mpicc.openmpi -O3 -Wall -Wextra -o "$work/$program" "$here/$program.c" -lm; done
for turn in $(seq "$turns"); do
    for program in is cg; do for class in $classes; do for n in $ranks; do for transport in $transports; do
        if [ "$transport" = udp ]; then mca='osc pt2pt --mca btl self,tcp --mca btl_tcp_if_include lo'; else mca='osc sm --mca btl self,vader'; fi
        yield=; [ "$n" -gt 2 ] && yield='--oversubscribe --mca mpi_yield_when_idle 1'
        echo "pelago $transport $("$pelago" run -n "$n" --transport "$transport" "$program" "$class")"
        echo "openmpi $transport $(mpirun.openmpi --allow-run-as-root -n "$n" $yield --mca pml ob1 --mca $mca "$work/$program" "$class")"
    done; done; done; done
done > "$work/all"
grep -v ' verified$' "$work/all" >&2 && exit 1
awk '{ for (i = 1; i < NF; i++) { if ($i == "ranks") n = $(i + 1); if ($i == "ms") t = $(i + 1); if ($i == "class") c = $(i + 1) }
       print $3, c, n, $2, $1, t }' "$work/all" | sort -k1,5 -k6g | awk '{ cell = $1 " " $2 " " $3 " " $4
        if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell } k = ++count[cell, $5]; t[cell, $5, k] = $6 }
    function middle(cell, who) { return t[cell, who, int((count[cell, who] + 1) / 2)] }
    END { printf "%-16s %12s %12s %7s\n", "program", "Pelago ms", "Open MPI ms", "ratio"
        for (i = 1; i <= cells; i++) { p = middle(order[i], "pelago"); o = middle(order[i], "openmpi")
            printf "%-16s %12.2f %12.2f %7.2f\n", order[i], p, o, o / p } }'
