#!/bin/sh
# Collective operations on simulated machines: what docs/evaluation/collectives.md shows. Prints one JSON object for each run.
# Usage: collectives.sh PELAGO [RANKS…]; MACHINES chooses some. 1,024 ranks take minutes of one core, 65,536 more than an hour and 8 GB.
# Sixteen ranks on each node. Up to 1,024 ranks a trial chooses among the best by the model and the simplest; with more, each of the candidates
# named here is timed by itself, and the model, which predicts them, is the one measured with 1,024 ranks.
set -eu
pelago=$1; shift
# run MACHINE RANKS ARGUMENTS…
run() {
    machine=$1 ranks=$2; shift 2
    "$pelago" sim -n "$ranks" --per-node 16 --machine "$machine" --heap 48M --quiet collectives --memory 40 --per-host 16 --format json "$@" |
        sed "s/^{/{\"machine\":\"$machine\",/"
}
for ranks in ${*:-1024 65536}; do
    for machine in ${MACHINES:-fat-tree-ndr torus-tofud dragonfly-slingshot}; do
        if [ "$ranks" -le 1024 ]; then
            run "$machine" "$ranks" --operation barrier
            for operation in broadcast reduce allreduce; do run "$machine" "$ranks" --operation $operation --bytes 8,4K,64K; done
            run "$machine" "$ranks" --operation allgather --bytes 8,512
            run "$machine" "$ranks" --operation scan --bytes 8
            continue
        fi
        model=$(run "$machine" 1024 --operation barrier --algorithm model | sed 's/.*"model":\[\([^]]*\)\].*/\1/')
        run "$machine" "$ranks" --model "$model" --operation broadcast --bytes 8,4K --algorithm model,hierarchical,binomial,flat
        run "$machine" "$ranks" --model "$model" --operation allreduce --bytes 8,4K --algorithm model,hierarchical,recursive-doubling,binomial
        run "$machine" "$ranks" --model "$model" --operation reduce --bytes 8 --algorithm binomial
        run "$machine" "$ranks" --model "$model" --operation barrier --algorithm model,hierarchical,recursive-doubling
    done
done
