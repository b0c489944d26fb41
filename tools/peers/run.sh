#!/bin/sh
# Open MPI and Pelago by turns on this machine; prints the median of each. Usage: run.sh [--network] [TURNS] [PELAGO]
# Without --network both use shared memory. With it Pelago uses UDP, Open MPI its own TCP (tcp) and UCX over TCP (ucx), all on loopback.
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
way=memory
if [ "${1:-}" = --network ]; then way=network; shift; fi
turns=${1:-5} pelago=${2:-pelago}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc -O2 -Wall -Wextra -o "$work/openmpi" "$here/../bench/peers/openmpi.c"
# openmpi NAME OPTIONS: what is measured with 2 ranks, and barriers of more.
openmpi() {
    name=$1; shift
    mpirun --allow-run-as-root "$@" -n 2 "$work/openmpi" "$name" "$way"
    for ranks in 4 8 16; do
        mpirun --allow-run-as-root "$@" -n $ranks --oversubscribe --mca mpi_yield_when_idle 1 "$work/openmpi" "$name" barrier
    done
}
memory() {
    "$pelago" bench put get fetch_add compare_swap visible rate barrier --bytes 8,64K,1M --format json
    openmpi openmpi --mca osc sm --mca btl self,vader
}
network() {
    "$pelago" bench put get fetch_add rate barrier --bytes 8,64K,1M --format json --transport udp
    openmpi tcp --mca pml ob1 --mca osc pt2pt --mca btl self,tcp --mca btl_tcp_if_include lo
    any='--mca pml_ucx_tls any --mca pml_ucx_devices any --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any'
    openmpi ucx --mca pml ucx --mca osc ucx $any -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo
}
for turn in $(seq "$turns"); do $way; done > "$work/all"
awk -F'[:,{}"]+' '/^{/ { for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["name"], v["ranks"], v["bytes"] + 0, v["transport"], v["median_ns"]; delete v }' "$work/all" |
    sort -k1,1 -k2n -k3n -k4,4 -k5g | awk '{ key = sprintf("%-13s %2d ranks %8d B %8s", $1, $2, $3, $4); if (key != last) show(); last = key; n++; t[n] = $5 }
        function show() { if (n) printf "%s %12.2f ns\n", last, t[int((n + 1) / 2)]; n = 0 } END { show() }'
