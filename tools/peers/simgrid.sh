#!/bin/sh
# SimGrid's SMPI and Pelago's simulator by turns, on the same machine `rx200-qdr`, or its nodes on a fat tree; prints medians.
# Usage: simgrid.sh [TURNS] [PELAGO]
# In the environment: RANKS="256 1024", CASES="alltoall:4096 ring recursive-doubling" (alltoall:BYTES), LIMIT=600 seconds for one
# run; what did not end is not tried again. LINK_GB_PER_S=4 is what a link of SMPI carries; 2.8 is what the DMA of rx200-qdr does.
# TOPOLOGY=star or fat-tree: two levels of switches with 16 ports down and, in the lower one, 16 up; RANKS are multiples of 16.
# DATA=real or sizes: whether Pelago moves the bytes of the blocks. SMPI always does.
# Needs: apt-get install libsimgrid-dev time; cargo build --release; 12 GB of memory for alltoall:4096 of 1,024 ranks
#
# The machine for SMPI is a star: one link of 4 GB/s from a node to the switch, another from the switch to it. SMPI has neither
# DMA, nor packets, nor buffers: messages on one link get equal shares of it at once. It adds 16 bytes to a message. Its latency
# is such that a word of eight bytes takes as long as in Pelago, 156.414 ns and the overhead of 1.0 us, which in rx200-qdr
# delays a message and occupies nothing, as latency does. Nothing is acknowledged, so Pelago's last 148.7 ns have no equal. The
# options turn off what SMPI would add: computing, factors fitted to Ethernet, cross traffic, the window of TCP, time for a look
# at the clock. In the fat tree every link of SMPI has a quarter of the latency of the longest way, over three switches; both choose
# the way up by the number of the target.
set -eu
turns=${1:-3} pelago=${2:-pelago}
ranks_of_all=${RANKS:-256 1024} cases=${CASES:-alltoall:4096 ring recursive-doubling} limit=${LIMIT:-600} gb=${LINK_GB_PER_S:-4}
topology=${TOPOLOGY:-star} data=${DATA:-real}
case $topology in star | fat-tree) ;; *) echo "simgrid.sh: TOPOLOGY is star or fat-tree" >&2; exit 2 ;; esac
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
smpicc -O2 -Wall -Wextra -o "$work/simgrid" "$here/simgrid.c"

# platform RANKS: a star of so many nodes, or a fat tree. Each of the two links of a way has half the latency: a word's way, less what
# its 24 bytes take. A switch and a cable more take 140.6 ns.
platform() {
    latency=$(awk -v gb="$gb" 'BEGIN { printf "%.3f", (1000 + 156.414 - 24 / gb) / 2 }') shape=
    if [ "$topology" = fat-tree ]; then
        latency=$(awk -v gb="$gb" 'BEGIN { printf "%.3f", (1000 + 156.414 + 2 * 140.6 - 24 / gb) / 4 }')
        shape="topology=\"FAT_TREE\" topo_parameters=\"2;16,$(($1 / 16));1,16;1,1\""
    fi
    cat > "$work/platform.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="rx200" prefix="node-" suffix="" radical="0-$(($1 - 1))" speed="1Gf"
           bw="${gb}GBps" lat="${latency}ns" sharing_policy="SPLITDUPLEX" $shape/>
</platform>
END
    seq -f 'node-%g' 0 $(($1 - 1)) > "$work/hosts"
}
# machine RANKS: the name or the path of the same machine for Pelago.
machine() {
    if [ "$topology" = star ]; then echo rx200-qdr; return; fi
    sed -e 's/^name = .*/name = "rx200-fat-tree"/' -e "s/^type = .*/type = \"fat-tree\"\ndown = [16, $(($1 / 16))]\nup = [16]/" \
        "$here/../../simulation/netsim/machines/rx200-qdr.toml" > "$work/machine.toml"
    echo "$work/machine.toml"
}
# measure SIMULATOR CASE RANKS COMMAND: a line of these, and simulated microseconds, core seconds, kilobytes, or - for each.
measure() {
    simulator=$1 case=$2 ranks=$3; shift 3
    if grep -qs "^$simulator $case $ranks -" "$work/all"; then return; fi
    if /usr/bin/time -o "$work/time" -f '%U %S %M' timeout "$limit" "$@" > "$work/output" 2> "$work/error"; then
        echo "$simulator $case $ranks" $(sed 's/.* us \([0-9.]*\).*/\1/' "$work/output") $(awk 'END { print $1 + $2, $3 }' "$work/time")
    elif grep -q 'status 124' "$work/time"; then
        echo "$simulator $case $ranks - - -"
    else
        cat "$work/error" >&2; exit 1
    fi >> "$work/all"
}
smpi() {
    case=$1 ranks=$2; platform "$ranks"
    measure smpi "$case" "$ranks" smpirun -no-privatize -np "$ranks" -platform "$work/platform.xml" -hostfile "$work/hosts" \
        --log=root.thres:warning --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=network/model:CM02 \
        --cfg=network/weight-S:0 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 "$work/simgrid" $(echo "$case" | tr : ' ')
}
simulated() {
    case=$1 ranks=$2
    case $case in
    alltoall:*) program="alltoall --bytes ${case#*:}" heap=$((ranks * ${case#*:} + 1048576)) ;;
    *) program="barrier --algorithm $case" heap=1048576 ;;
    esac
    measure pelago "$case" "$ranks" "$pelago" sim -n "$ranks" --machine "$(machine "$ranks")" --heap "$heap" --data "$data" \
        --quiet $program
}
for turn in $(seq "$turns"); do
    for ranks in $ranks_of_all; do
        for case in $cases; do simulated "$case" "$ranks"; smpi "$case" "$ranks"; done
    done
done
sort -k2,2 -k3n -k1,1 "$work/all" | awk -v limit="$limit" '
    # median KEY FIELD: of what was read of one simulator, case and number of ranks.
    function median(key, field,    n, i, j, t, sorted) {
        n = count[key]
        for (i = 1; i <= n; i++) {
            t = value[key, i, field] + 0
            for (j = i; j > 1 && sorted[j - 1] > t; j--) sorted[j] = sorted[j - 1]
            sorted[j] = t
        }
        return sorted[int((n + 1) / 2)]
    }
    function none() { return "- >" limit " - -" }
    function messages(case, ranks) {
        return case == "recursive-doubling" ? ranks * int(log(ranks) / log(2) + 0.5) : ranks * (ranks - 1)
    }
    { key = $1 " " $2 " " $3; n = ++count[key]; for (i = 4; i <= 6; i++) value[key, n, i] = $i; ended[key] = $4 != "-"
      if (!(($2, $3) in seen)) { seen[$2, $3] = 1; name[++rows] = $2 " " $3 } }
    END {
        format = "%-18s %5s | %11s %11s | %9s %9s | %9s %9s %6s | %9s %9s %6s\n"
        printf "%24s | %-23s | %-19s | %-26s | %s\n", "", "simulated us", "core s", "messages per core s", "peak KB"
        printf format, "case", "ranks", "Pelago", "SMPI", "Pelago", "SMPI", "Pelago", "SMPI", "ratio", "Pelago", "SMPI", "ratio"
        for (row = 1; row <= rows; row++) {
            split(name[row], is, " "); p = "pelago " name[row]; s = "smpi " name[row]; m = messages(is[1], is[2])
            pt = median(p, 5); st = median(s, 5)
            # What /usr/bin/time shows as nothing took less than it can show.
            if (ended[p] && pt < 0.01) pt = 0.01
            if (!ended[p]) ours = none(); else ours = sprintf("%.3f %.2f %d %d", median(p, 4), pt, m / pt, median(p, 6))
            if (!ended[s]) theirs = none(); else theirs = sprintf("%.3f %.2f %d %d", median(s, 4), st, m / st, median(s, 6))
            split(ours, o, " "); split(theirs, t, " "); both = ended[p] && ended[s]
            printf format, is[1], is[2], o[1], t[1], o[2], t[2], o[3], t[3], both ? sprintf("%.1f", st / pt) : "-", o[4], t[4],
                both ? sprintf("%.2f", median(s, 6) / median(p, 6)) : "-"
        }
    }'
