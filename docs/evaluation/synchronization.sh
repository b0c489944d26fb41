#!/bin/sh
# Paper D (NSIM-ACE): barriers over ranks (figures 3 and 4), the particle exchange with and without synchronization (section 6.4), and the
# times of counting, packing and unpacking on this machine (figures 5 to 7): docs/evaluation/synchronization.md.
#
#     sh docs/evaluation/synchronization.sh PELAGO [quick | here] > docs/evaluation/synchronization.jsonl
#
# All but what is measured here (rows with "machine":"here") is virtual time: the same on every machine. `quick` leaves out what is measured
# and all but a few rows of each kind; `here` makes only the rows that are measured.
set -eu
pelago=${1:?give the path of the pelago command}
extent=${2:-all}

# Two ranks on a node, as in the paper; what stays on a node takes no time there.
simulate() {
    ranks=$1 overhead=$2
    shift 2
    "$pelago" sim -n "$ranks" --per-node 2 --machine rx200-qdr --quiet --set rail.nic.overhead_ns="$overhead" "$@"
}

# figure, algorithm, overhead in ns, ranks
barrier() {
    simulate "$4" "$3" barrier --algorithm "$2" |
        awk -v head="\"figure\":$1,\"algorithm\":\"$2\",\"overhead_ns\":$3" '{ printf "{%s,\"ranks\":%d,\"us\":%s}\n", head, $3, $5 }'
}

# The clustered set: domains and work as in GADGET-2. Arguments: seed, for whom ranks wait, ns for each particle counted, packed, unpacked
exchange() {
    seed=$1 sync=$2 costs=$3,$4,$5
    simulate 32 1000 particles --clusters plummer --seed "$seed" --dt 0.3 --domains curve --balance work --sync "$sync" \
        --cost-count "$3" --cost-pack "$4" --cost-unpack "$5" --format json |
        sed "s/^{/{\"section\":\"6.4\",\"machine\":\"rx200-qdr\",\"seed\":$seed,\"sync\":\"$sync\",\"costs_ns\":[$costs],/; s/,\"each\":.*/}/"
}

# As exchange, but computing takes what it takes here, by the CPU time of each rank.
measured() {
    "$pelago" sim -n 32 --per-node 2 --machine rx200-qdr --quiet --compute measured particles --clusters plummer --seed "$1" --dt 0.3 \
        --domains curve --balance work --sync "$2" --repeat 5 --format json |
        sed "s/^{/{\"section\":\"6.2\",\"machine\":\"rx200-qdr, computing here\",\"seed\":$1,\"sync\":\"$2\",/"
}

# The whole exchange here: round, for whom ranks wait
here() {
    "$pelago" run -n 2 particles --side 64 --clusters plummer --dt 1 --domains boxes --balance work --sync "$2" --repeat 200 --format json |
        sed "s/^{/{\"section\":\"6.4\",\"machine\":\"here\",\"round\":$1,\"sync\":\"$2\",/; s/,\"each\":.*/}/"
}

if [ "$extent" != here ]; then
    case $extent in
    quick) sizes="4 6 8 16 32" overheads="0 1000" seeds=1 ;;
    *) sizes=$(seq 2 2 32) overheads="0 800 1000 1200" seeds="1 2 3" ;;
    esac
    for overhead in $overheads; do
        for ranks in $sizes; do
            barrier 3 ring "$overhead" "$ranks"
            barrier 4 recursive-doubling "$overhead" "$ranks"
        done
    done
    for seed in $seeds; do
        for sync in barriers arrivals none; do
            exchange "$seed" $sync 80 60 60
        done
    done
    # The same costs times 1.24, which is fitted to the 15.2 ms of the paper.
    for sync in barriers arrivals none; do
        exchange 1 $sync 98.8 74.1 74.1
    done
fi
if [ "$extent" != quick ]; then
    for sync in barriers none; do
        measured 1 $sync
    done
    # In turns, so that what else runs here hits all alike.
    for round in 1 2 3 4 5; do
        for sync in barriers arrivals none; do
            here $round $sync
        done
    done
fi
