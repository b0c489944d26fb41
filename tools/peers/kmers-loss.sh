#!/bin/sh
# k-mers on two hosts whose network loses datagrams, by turns: the hosts are network namespaces on a wire, each of which drops what comes at random; needs root, ip, nft and taskset.
# Prints the median milliseconds for each loss (per ten thousand) and how many times the median without loss that is.
# Usage: kmers-loss.sh [TURNS] [PELAGO] [READS] [LOSSES]
set -eu
turns=${1:-5} pelago=$(realpath "${2:-target/release/pelago}") reads=${3:-2000000} losses=${4:-0 100 1000}
one=kmers-$$-1 other=kmers-$$-2 work=$(mktemp -d)
folder=$work subnet=10.79.0
. "$(dirname "$0")/two-hosts.sh"
"$pelago" run -n 1 kmers "$work/reads" --generate "$reads" --expect 300000 >/dev/null
for turn in $(seq "$turns"); do
    for loss in $losses; do
        lose "$loss"
        timeout 60 "$pelago" run -n 2 --hosts "$one:1,$other:1" --remote-shell "$shell" kmers "$work/reads" --k 21 --expect 300000 > "$work/out"
        head -n 1 "$work/out" | sed "s/^/$loss /"
    done
done > "$work/all"
awk '{ for (i = 2; i < NF; i++) if ($i == "s") print $1, $(i + 1) * 1e3 }' "$work/all" > "$work/times"
[ -s "$work/times" ] || { cat "$work/all" >&2; exit 1; }
sort -k1n -k2g "$work/times" | awk '{ if (!($1 in n)) order[++all] = $1; t[$1, ++n[$1]] = $2 }
    function middle(loss) { return t[loss, int((n[loss] + 1) / 2)] }
    END { printf "%-18s %10s %8s\n", "loss per 10,000", "ms", "times"
        for (i = 1; i <= all; i++) printf "%-18d %10.1f %8.2f\n", order[i], middle(order[i]), middle(order[i]) / middle(order[1]) }'
