#!/bin/sh
# k-mers on two hosts whose network loses datagrams, by turns: the hosts are network namespaces on a wire, each of which drops what comes at random; needs root, ip and nft.
# Prints the median milliseconds for each loss (per ten thousand) and how many times the median without loss that is.
# Usage: kmers-loss.sh [TURNS] [PELAGO] [READS] [LOSSES]
set -eu
turns=${1:-5} pelago=$(realpath "${2:-target/release/pelago}") reads=${3:-2000000} losses=${4:-0 100 1000}
one=kmers-$$-1 other=kmers-$$-2 work=$(mktemp -d)
clean() {
    ip netns delete "$one" 2>/dev/null || true
    ip netns delete "$other" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
ip netns add "$one"
ip netns add "$other"
ip -n "$one" link add name net mtu 1500 type veth peer name net mtu 1500 netns "$other"
for host in "$one" "$other"; do
    ip -n "$host" address add "10.79.0.${host##*-}/24" dev net
    ip -n "$host" link set dev lo up
    # One packet for each datagram or segment, as between machines.
    ip -n "$host" link set dev net up gso_max_segs 1
done
# The wire takes a moment before it carries anything.
sleep 2
lose() {
    for host in "$one" "$other"; do
        ip netns exec "$host" nft flush ruleset
        [ "$1" = 0 ] && continue
        ip netns exec "$host" nft "add table inet loss; add chain inet loss input { type filter hook input priority 0; }"
        ip netns exec "$host" nft "add rule inet loss input numgen random mod 10000 < $1 counter drop"
    done
}
"$pelago" run -n 1 kmers "$work/reads" --generate "$reads" --expect 300000 >/dev/null
for turn in $(seq "$turns"); do
    for loss in $losses; do
        lose "$loss"
        timeout 60 "$pelago" run -n 2 --hosts "$one:1,$other:1" --remote-shell 'ip netns exec {host}' kmers "$work/reads" --k 21 --expect 300000 > "$work/out"
        head -n 1 "$work/out" | sed "s/^/$loss /"
    done
done > "$work/all"
awk '{ for (i = 2; i < NF; i++) if ($i == "s") print $1, $(i + 1) * 1e3 }' "$work/all" > "$work/times"
[ -s "$work/times" ] || { cat "$work/all" >&2; exit 1; }
sort -k1n -k2g "$work/times" | awk '{ if (!($1 in n)) order[++all] = $1; t[$1, ++n[$1]] = $2 }
    function middle(loss) { return t[loss, int((n[loss] + 1) / 2)] }
    END { printf "%-18s %10s %8s\n", "loss per 10,000", "ms", "times"
        for (i = 1; i <= all; i++) printf "%-18d %10.1f %8.2f\n", order[i], middle(order[i]), middle(order[i]) / middle(order[1]) }'
