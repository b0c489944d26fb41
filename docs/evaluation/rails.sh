#!/bin/sh
# Himeno, broadcast and allgather on the simulated machine of paper B, by fixed policies and by the library's own choice: what
# docs/evaluation/rails.md tells.
#
#     sh docs/evaluation/rails.sh PELAGO > docs/evaluation/rails.jsonl
#
# The time of an iteration, in virtual microseconds: the same on every machine. The fixed policies of the paper end each exchange by TCA with a
# barrier of 5.2 us (fitted); the library's plans need none.
set -eu
pelago=${1:?give the path of the pelago command}
iterations=20

# size, split, ranks, nanoseconds for a cell, policy, nanoseconds of an iteration besides, how borders travel
measure() {
    size=$1 split=$2 ranks=$3 cell=$4 policy=$5 besides=$6
    shift 6
    "$pelago" sim -n "$ranks" --machine ha-pacs-tca --quiet himeno "$size" --iterations $iterations --split "$split" --no-overlap \
        --cost-cell "$cell" --cost-iteration "$besides" "$@" |
        awk -v head="\"size\":\"$size\",\"split\":\"$split\",\"policy\":\"$policy\"" -v iterations=$iterations \
            '$1 == "seconds" { us = $2 / iterations * 1e6 } $1 == "hash" { hash = $2 }
             END { printf "{%s,\"iteration_us\":%.2f,\"hash\":\"%s\"}\n", head, us, hash }'
}

# The paper's policies, then the library's choices.
policies() {
    measure "$@" ib 8000 --rail ib --method direct,packed
    measure "$@" tca 13200 --rail tca --method direct
    measure "$@" hybrid 13200 --rail ib,tca --method direct
    measure "$@" tca-without-barrier 8000 --rail tca --method direct
    measure "$@" hybrid-without-barrier 8000 --rail ib,tca --method direct
    measure "$@" ib-as-best 8000 --rail ib
    measure "$@" auto 8000
}

policies S 2x8x1 16 0.305
policies S 2x4x1 8 0.305
policies M 2x8x1 16 0.675
policies M 2x4x1 8 0.675

# Eight operations in a row, each begun when the last has ended on its rank: operation, ranks, bytes, policy, how
collective() {
    operation=$1 ranks=$2 bytes=$3 policy=$4
    shift 4
    "$pelago" sim -n "$ranks" --machine ha-pacs-tca --quiet collectives --operation "$operation" --bytes "$bytes" --memory 64 \
        --per-host $((ranks / 2)) --repeat 8 --format json "$@" |
        sed "s/^{/{\"policy\":\"$policy\",/; s/,\"model\".*/}/"
}

for ranks in 8 16; do
    for bytes in 64 512 2K 4K 8K 32K 128K; do
        collective broadcast $ranks $bytes ib --algorithm binomial --rail ib
        collective broadcast $ranks $bytes tca --algorithm binomial --rail tca
        collective broadcast $ranks $bytes hybrid --algorithm hierarchical --rail tca,ib
        collective broadcast $ranks $bytes auto
        collective allgather $ranks $bytes ib --algorithm recursive-doubling --rail ib
        collective allgather $ranks $bytes tca --algorithm recursive-doubling --rail tca
        collective allgather $ranks $bytes hybrid --algorithm recursive-doubling --rail tca,ib
        collective allgather $ranks $bytes auto
    done
done
