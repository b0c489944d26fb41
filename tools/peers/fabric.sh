#!/bin/sh
# Pelago over a provider of libfabric beside libfabric itself (fabric.c), also with completions that can be waited for by a descriptor, by turns on this
# machine; prints medians, and the medians of the ratios within the turns.
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
    "$pelago" bench put_registered get_registered --bytes 1M -n 2 --transport ofi --fabric "$provider" --format json
done > "$work/all"
awk -F'[:,{}"]+' '/^{/ { for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print v["name"], v["bytes"] + 0, v["transport"], v["median_ns"]; delete v }' "$work/all" |
    awk 'function median(values, n, sorted, i, j, v) { for (i = 1; i <= n; i++) { v = values[i]; for (j = i; j > 1 && sorted[j - 1] > v; j--) sorted[j] = sorted[j - 1]; sorted[j] = v } return sorted[int((n + 1) / 2)] }
        { key = $1 " " $2; side = $3 ~ /^raw/ ? $3 : "pelago"; if (!(key in seen)) { seen[key]; order[++keys] = key } n[key, side]++; t[key, side, n[key, side]] = $4 }
        # Median of a side, in ns, or of the ratios within the turns: the speed of a shared machine changes from turn to turn.
        function of(key, side, by, values, i, turns) { turns = n[key, side]; for (i = 1; i <= turns; i++) values[i] = t[key, side, i] / (by ? t[key, by, i] : 1); return turns ? median(values, turns) : 0 }
        END { for (i = 1; i <= keys; i++) { key = order[i]; split(key, part, " ")
            printf "%-26s %8d B  pelago %12.1f ns", part[1], part[2], of(key, "pelago")
            # fabric.c does not reuse its memory before an operation completes, so its put and get are the limits of those of registered memory, too.
            same = key; sub("_registered", "", same)
            for (side = 1; side <= 2; side++) { name = side == 1 ? "raw" : "raw_wait"; n[key, name] = n[same, name]; for (j = 1; j <= n[same, name]; j++) t[key, name, j] = t[same, name, j] }
            if (n[key, "raw"]) printf "  raw %12.1f ns  ratio %.2f  with a descriptor %12.1f ns  ratio %.2f", of(key, "raw"), of(key, "pelago", "raw"), of(key, "raw_wait"), of(key, "pelago", "raw_wait")
            print "" } }'
