#!/bin/sh
# Two hosts whose network loses packets: percentiles of put and get, a loop of messages, and a shared counter, beside Open MPI over TCP, by turns:
# what docs/performance.md shows. The hosts are network namespaces on a wire, each of which drops what comes at random; needs root, ip, nft, taskset and Open MPI.
# Prints "turn who loss line" for each run; a run that takes longer than a minute is "cut off".
# Usage: loss.sh PELAGO LATENCY_MPI [TURNS [LOSSES]]; LATENCY_MPI is tools/peers/latency.c, compiled; LOSSES are per ten thousand.
set -eu
LONGEST=60
pelago=$(realpath "$1") peer=$(realpath "$2") turns=${3:-5} losses=${4:-0 10 100 500 1000 3000}
one=loss-$$-1 other=loss-$$-2 folder=$(mktemp -d)
subnet=10.78.0
. "$(dirname "$0")/../../tools/peers/two-hosts.sh"
# Open MPI tells hosts apart by their names, which namespaces of the network do not have of their own.
cat >"$folder/shell" <<'SHELL'
#!/bin/sh
host=$1; shift
exec "$(dirname "$0")/host" "$host" "exec unshare --uts sh -c 'hostname $host; $*'"
SHELL
chmod +x "$folder/shell"
mpi() {
    timeout "$LONGEST" "$folder/host" "$one" unshare --uts sh -c "'hostname $one; exec mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 \
        --mca plm_rsh_agent $folder/shell --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include net --mca oob_tcp_if_include net \
        --mca osc ^ucx --host $one:1,$other:1 -n 2 $peer $*'"
}
ours() { timeout "$LONGEST" "$pelago" run -n 2 --hosts "$one:1,$other:1" --remote-shell "$shell" "$@"; }
say() {
    prefix="$turn $1 $loss" call=$2
    shift 2
    if $call "$@" >"$folder/out" 2>&1; then sed "s/^/$prefix /" "$folder/out"; else echo "$prefix $*: cut off or failed: $(tail -n 1 "$folder/out")"; fi
}
for turn in $(seq "$turns"); do
    for loss in $losses; do
        lose "$loss"
        for operation in put get; do
            for shape in '8 5000' '1048576 100'; do
                set -- $shape
                say pelago ours latency --operation "$operation" --bytes "$1" --repeat "$2"
                say openmpi mpi "$operation" "$1" "$2"
            done
        done
        say pelago ours incast --messages 500 --bytes 64
        say pelago ours counter --turns 300
    done
done
