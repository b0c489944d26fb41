#!/bin/sh
# Pelago over a provider of libfabric beside libfabric itself (fabric.c), also with completions that can be waited for by a descriptor, by turns on this
# machine; prints medians and ratios.
# Usage: fabric.sh [TURNS] [PELAGO] [PROVIDER]. Needs: apt-get install libfabric-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago} provider=${3:-tcp;ofi_rxm}
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cc -O2 -Wall -Wextra -o "$work/fabric" "$here/fabric.c" -lfabric
for turn in $(seq "$turns"); do
    "$work/fabric" "$provider"
    "$work/fabric" "$provider" wait
    "$pelago" bench put get fetch_add get_while_target_computes --bytes 8,1M -n 2 --transport ofi --fabric "$provider" --format json
done > "$work/all"
awk -F'[:,{}"]+' '/^{/ { for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["name"], v["bytes"] + 0, v["transport"], v["median_ns"]; delete v }' "$work/all" |
    sort -k1,1 -k2n -k3,3 -k4g | awk '{ key = $1 " " $2; side = $3 ~ /^raw/ ? $3 : "pelago"; if (!(key in seen)) { seen[key]; order[++keys] = key } n[key, side]++; t[key, side, n[key, side]] = $4 }
        function median(key, side) { return t[key, side, int((n[key, side] + 1) / 2)] }
        END { for (i = 1; i <= keys; i++) { key = order[i]; split(key, part, " "); raw = median(key, "raw"); wait = median(key, "raw_wait"); ours = median(key, "pelago")
            printf "%-26s %8d B  pelago %12.1f ns", part[1], part[2], ours
            if (raw) printf "  raw %12.1f ns  ratio %.2f  with a descriptor %12.1f ns  ratio %.2f", raw, ours / raw, wait, ours / wait
            print "" } }'
