#!/bin/sh
# Broadcast and allgather as paper B compares them: its hybrid, and what a plan chooses, beside what MVAPICH2 does with the memory of GPUs
# (docs/evaluation/rails.md). Each operation is timed by itself, in virtual microseconds: the same on every machine.
#
#     sh docs/evaluation/rails-baseline.sh PELAGO > docs/evaluation/rails-baseline.jsonl
set -eu
pelago=${1:?give the path of the pelago command}

# Copying between GPU and host (fitted): up to 8 KB by the core, then by cudaMemcpy, whose host memory MVAPICH2 registers from 512 KB on.
staging=8K:750:6.714,524280:7600:3.55,1024M:7600:6.714

# machine, policy, operation, ranks, bytes, how
measure() {
    machine=$1 policy=$2 operation=$3 ranks=$4 bytes=$5
    shift 5
    "$pelago" sim -n "$ranks" --machine "$machine" --quiet collectives --operation "$operation" --bytes "$bytes" --memory 256 --apart \
        --format json "$@" | sed "s/^{/{\"policy\":\"$policy\",/; s/,\"model\".*/}/"
}

# MVAPICH2 copies to the host's memory, works there, and copies back. A broadcast goes by a tree, and above 512 KB by a scatter and a ring; an
# allgather by recursive doubling, and above 64 KB by a ring.
mvapich() {
    operation=$1 ranks=$2 bytes=$3
    case $operation-$bytes in
    broadcast-1M)
        part=$((1048576 / ranks))
        for step in "scatter binomial" "allgather ring"; do
            measure ha-pacs-host part "${step% *}" "$ranks" $part --algorithm "${step#* }"
        done | awk -v ranks="$ranks" '{ sub(/.*"us":/, ""); sub(/}.*/, ""); us += $0 }
            END { us += 2 * (7.6 + 1048576 / 6714); printf "{\"policy\":\"mvapich\",\"program\":\"collectives\",\"operation\":\"broadcast\"," \
                "\"ranks\":%d,\"bytes\":1048576,\"algorithm\":\"scatter, ring\",\"by\":\"request\",\"us\":%.3f}\n", ranks, us }'
        ;;
    broadcast-*) measure ha-pacs-host mvapich broadcast "$ranks" "$bytes" --algorithm binomial --piece 4M --staging $staging ;;
    allgather-128K | allgather-256K | allgather-512K | allgather-1M) measure ha-pacs-host mvapich allgather "$ranks" "$bytes" --algorithm ring --staging $staging ;;
    allgather-*) measure ha-pacs-host mvapich allgather "$ranks" "$bytes" --algorithm recursive-doubling --staging $staging ;;
    esac
}

# The members of a half are two columns of the double ring, or four: its first two steps go to neighbours, the third two nodes further.
for ranks in 8 16; do
    order=0,4,1,5,2,6,3,7
    [ $ranks = 8 ] || order=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15
    halves="--per-host $((ranks / 2)) --order $order"
    for bytes in 16 64 256 512 1K 2K 4K 8K 16K 32K 64K 128K 256K 512K 1M; do
        mvapich broadcast $ranks $bytes
        measure ha-pacs-tca hybrid broadcast $ranks $bytes $halves --algorithm hierarchical --rail tca,ib --piece 4M
        measure ha-pacs-tca auto broadcast $ranks $bytes $halves
    done
    for bytes in 16 64 256 512 1K 2K 4K 8K 16K 32K 64K 128K 256K 512K 1M; do
        mvapich allgather $ranks $bytes
        measure ha-pacs-tca hybrid allgather $ranks $bytes $halves --algorithm recursive-doubling --rail tca,ib
        measure ha-pacs-tca auto allgather $ranks $bytes $halves
    done
done
