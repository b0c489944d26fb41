#!/bin/sh
# What an atomic of four bytes takes, with each step of paper E apart: what docs/evaluation/basic-layer.md tells.
#
#     sh docs/evaluation/basic-layer.sh FOLDER > docs/evaluation/basic-layer.jsonl
#
# Rows with "interface":"rust" are those of pelago-basic; "registered_us" is the time of an atomic on memory that its own rank has registered.
# "threads" is a step of the condition on the simulated machine, where pelago-basic runs as "one", and which of the two it runs as elsewhere.
#
# FOLDER has what cargo build --release -p pelago-acp -p pelago-cli -p pelago-bench made. Rows of the simulated machine are the same
# everywhere; rows of shm and udp are real time, medians of 31 samples of 1000 atomics each, by turns in ROUNDS rounds (5 unless set).
set -eu
built=$(readlink -f "${1:?give the folder of the built programs}")
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$built"
cc -O2 -I "$here/../../bindings/acp/include" "$here/basic-layer.c" -o "$work/basic-layer" -L "$built" -lacp

# ranks, condition, then the steps: values of node.software
simulated() {
    ranks=$1 condition=$2 head=
    shift 2
    set -- "$@"
    options=
    for step; do
        options="$options --set node.software.$step"
        head="$head,\"${step%%=*}\":\"${step#*=}\""
    done
    # shellcheck disable=SC2086
    "$built/pelago" sim -n "$ranks" --machine tofu2 --quiet $options "$work/basic-layer" ${arguments:-} |
        sed "s/^{/{\"platform\":\"tofu2\",\"ranks\":$ranks,\"condition\":\"$condition\"$head,/"
    if [ "$ranks" = 2 ]; then
        # shellcheck disable=SC2086
        "$built/pelago" sim -n 2 --machine tofu2 --quiet $options "$built/pelago-basic" one |
            sed "s/^{\"threads\":\"one\",/{\"platform\":\"tofu2\",\"interface\":\"rust\",\"condition\":\"$condition\"$head,/"
    fi
}

simulated 2 nic submission=free
simulated 2 mpi submission=direct
simulated 2 1 submission=progress-thread atomics=progress-thread descriptors=built
simulated 2 2 submission=progress-thread atomics=progress-thread descriptors=built threads=many
simulated 2 3 submission=progress-thread descriptors=built
simulated 2 4 submission=progress-thread
simulated 2 5 submission=progress-thread descriptors=built threads=many
simulated 2 6 submission=progress-thread threads=many
simulated 2 7 submission=bypass descriptors=built threads=many
simulated 2 8 submission=bypass threads=many
for ranks in 3 4 6; do
    simulated $ranks together submission=progress-thread atomics=progress-thread serving=together
    simulated $ranks apart submission=progress-thread atomics=progress-thread serving=apart
done

arguments="1 1 copies"
simulated 3 copies submission=free
simulated 3 copies submission=progress-thread

for round in $(seq "${ROUNDS:-5}"); do
    for transport in shm udp; do
        for progress in thread manual; do
            for threads in one many; do
                "$built/pelago" run -n 2 --transport $transport --progress $progress "$built/pelago-basic" $threads |
                    sed "s/^{/{\"platform\":\"$transport\",\"round\":$round,\"interface\":\"rust\",\"progress\":\"$progress\",/"
            done
            "$built/pelago" run -n 2 --transport $transport --progress $progress "$work/basic-layer" 1000 31 |
                sed "s/^{/{\"platform\":\"$transport\",\"round\":$round,\"interface\":\"acp\",\"progress\":\"$progress\",\"threads\":\"many\",/"
        done
        "$built/pelago" bench tuning --transport $transport --format json | sed "s/^{/{\"round\":$round,/"
        "$built/pelago" bench copy -n 3 --bytes 8,256,8K,256K --transport $transport --format json | sed "s/^{/{\"round\":$round,/"
    done
done
