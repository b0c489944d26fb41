#!/bin/sh
# Start to end of an empty job of Pelago and of `true` under the same launcher, by turns on this machine; prints medians and differences.
# `pelago run` refuses programs that do not join the job, so that it has no line of `true`. Launchers that are not installed are left out; srun needs an allocation or a Slurm that gives one. Usage: start.sh [TURNS] [PELAGO] [RANKS]
set -eu
turns=${1:-9} pelago=${2:-pelago} ranks=${3:-16}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# By which ranks under srun without a plugin recognize each other.
PELAGO_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export PELAGO_SECRET
# timed LAUNCHER PROGRAM COMMAND …
timed() {
    name=$1 program=$2; shift 2
    start=$(date +%s%N)
    "$@" >/dev/null 2>"$work/errors" || { echo "start.sh: $name $program failed:" >&2; head -3 "$work/errors" >&2; return 0; }
    echo "$name $program $(($(date +%s%N) - start))" >> "$work/all"
}
both() {
    name=$1; shift
    timed "$name" true "$@" true
    timed "$name" pelago "$@" "$pelago" bundled bench-rank launch
}
: > "$work/all"
for turn in $(seq "$turns"); do
    timed pelago-run pelago "$pelago" run -n "$ranks" "$pelago" bundled bench-rank launch
    if command -v mpirun.openmpi >/dev/null; then both mpirun.openmpi mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks"; fi
    if command -v mpiexec.hydra >/dev/null; then both mpiexec.hydra mpiexec.hydra -n "$ranks"; fi
    if command -v prterun >/dev/null; then PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 both prterun prterun --map-by :OVERSUBSCRIBE -n "$ranks"; fi
    if srun --version >/dev/null 2>&1 && sinfo >/dev/null 2>&1; then
        both srun-pmi2 srun --mpi=pmi2 -Q --overcommit -N 1 -n "$ranks"
        MASTER_ADDR=127.0.0.1 both srun-none srun --mpi=none -Q --overcommit -N 1 -n "$ranks"
    fi
done
sort -k1,1 -k2,2 -k3n "$work/all" | awk '{ name[$1]; n[$1, $2]++; t[$1, $2, n[$1, $2]] = $3 / 1e6 }
    function median(a, b) { return t[a, b, int((n[a, b] + 1) / 2)] }
    END { for (a in name) {
        printf "%-15s pelago %8.1f ms (%d turns)", a, median(a, "pelago"), n[a, "pelago"]
        if (n[a, "true"]) printf "  true %8.1f ms (%d turns)  difference %8.1f ms", median(a, "true"), n[a, "true"], median(a, "pelago") - median(a, "true")
        print "" } }'
