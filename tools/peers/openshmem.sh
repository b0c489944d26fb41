#!/bin/sh
# OpenSHMEM of Pelago and of Open MPI by turns, two PEs on this machine; prints the median ns of each operation and their ratio.
# Usage: openshmem.sh [TURNS] [FOLDER OF libsma.so AND pelago] [TRANSPORTS]
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release -p pelago-cli -p pelago-shmem
set -eu
turns=${1:-5} built=${2:-target/release} transports=${3:-shm udp}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
SHMEM_LIB=$built "$here/../../bindings/shmem/bin/oshcc" -O2 -o "$work/pelago" "$here/openshmem.c"
oshcc -O2 -o "$work/openmpi" "$here/openshmem.c"
for turn in $(seq "$turns"); do for transport in $transports; do
    # Open MPI's OpenSHMEM goes by UCX alone in this package; over a network its TCP is the counterpart of UDP.
    if [ "$transport" = udp ]; then tls=tcp,self few=300 btl=self,tcp; else tls=posix,cma,self few=2000 btl=self,vader; fi
    "$built/pelago" run -n 2 --transport "$transport" "$work/pelago" "$few" | sed "s/^/$transport pelago /"
    UCX_TLS=$tls oshrun --allow-run-as-root -n 2 -x UCX_TLS --mca btl "$btl" "$work/openmpi" "$few" 2>"$work/error" | sed "s/^/$transport openmpi /"
done; done > "$work/all"
if grep -q wrong "$work/all" || ! grep -q ' openmpi ' "$work/all" || ! grep -q ' pelago ' "$work/all"; then cat "$work/error" "$work/all" >&2; exit 1; fi
sort -k1,4 -k5g "$work/all" | awk '{ cell = $1 " " $3 " " $4; if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell }
        k = ++count[cell, $2]; t[cell, $2, k] = $5 }
    function middle(cell, who) { return t[cell, who, int((count[cell, who] + 1) / 2)] }
    END { printf "%-36s %12s %12s %7s\n", "operation", "Pelago ns", "Open MPI ns", "ratio"
        for (i = 1; i <= cells; i++) { p = middle(order[i], "pelago"); o = middle(order[i], "openmpi")
            printf "%-36s %12.1f %12.1f %7.2f\n", order[i], p, o, o / p } }'
