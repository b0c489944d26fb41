#!/bin/sh
# The other figures of paper B, simulated: messages between two neighbours by each rail (figure 4), faces of three shapes (figure 6), Himeno
# by all splits in two directions (figures 9 and 10), allgathers of up to 1 MB (figures 14 and 15): what docs/evaluation/rails.md tells under
# "Figures 4, 6, 9, 10, 14 and 15".
#
#     sh docs/evaluation/rails-figures.sh PELAGO [quick] > docs/evaluation/rails-figures.jsonl
#
# Virtual time, the same on every machine. `quick` makes a few rows of each figure.
set -eu
pelago=${1:?give the path of the pelago command}
extent=${2:-all}
case $extent in
quick) sizes="8 8K 512K" edges="320 512" faces="block" splits="2x8:16" grids="S:0.305" blocks="" ;;
*)
    sizes="8 64 512 1K 2K 4K 8K 16K 32K 64K 128K 256K 512K 1M 2M 4M"
    edges="64 128 192 256 320 384 448 512 576 640"
    faces="block block-stride stride"
    splits="1x2:2 2x1:2 1x4:4 2x2:4 4x1:4 1x8:8 2x4:8 4x2:8 8x1:8 2x8:16 4x4:16 8x2:16"
    grids="S:0.305 M:0.675"
    blocks="256K 512K 1M"
    ;;
esac

# A message from one rank to the next, by a broadcast among two: bytes, rail
message() {
    "$pelago" sim -n 2 --machine ha-pacs-tca --quiet collectives --operation broadcast --bytes "$1" --memory 64 --algorithm binomial \
        --rail "$2" --piece 4M --apart |
        awk -v rail="$2" '{ printf "{\"figure\":4,\"rail\":\"%s\",\"bytes\":%d,\"us\":%s,\"mb_per_s\":%.1f}\n", rail, $5, $8, $5 / $8 }'
}

# For long faces two fitted values of the machine do not reproduce the paper's crossovers: the overhead of the pipeline for more than 256 KB (55.2 us,
# fitted to broadcasts) and the rate of packing (20 GB/s, fitted to the small faces of Himeno). "refitted" has others.
refitted() {
    echo --set node.gather_gb_per_s=100 --set \
        "rail.0.nic.stages=[[64,300.0,inf],[2048,300.0,1.51],[8192,3320.0,0.3129],[262144,13020.0,7.63],[262145,34000.0,inf]]"
}

# A face of N x N doubles between two ranks, as the paper sends it by each rail. The grid is of single precision, so that rows have 2N cells.
face() {
    shape=$1 n=$2 rail=$3 method=$4 machine=$5 changes=
    [ "$machine" = ha-pacs-tca ] || changes=$(refitted)
    case $shape in
    block) grid=6x${n}x$((2 * n)) split=2x1x1 ;;
    block-stride) grid=${n}x6x$((2 * n)) split=1x2x1 ;;
    stride) grid=${n}x$((2 * n))x6 split=1x1x2 ;;
    esac
    "$pelago" sim -n 2 --machine ha-pacs-tca --quiet $changes himeno $grid --iterations 10 --split $split --no-overlap --rail "$rail" \
        --method "$method" |
        awk -v head="\"figure\":6,\"shape\":\"$shape\",\"n\":$n,\"rail\":\"$rail\",\"method\":\"$method\",\"machine\":\"$machine\"" -v bytes=$((8 * n * n)) \
            '$1 == "seconds" { us = $2 / 10 * 1e6 } END { printf "{%s,\"us\":%.2f,\"mb_per_s\":%.1f}\n", head, us, bytes / us }'
}

# An allgather of more than 128 KB of each rank, by what MVAPICH2 does and by the hybrid, as in rails-baseline.sh: ranks, bytes
allgather() {
    ranks=$1 bytes=$2 order=0,4,1,5,2,6,3,7
    [ "$ranks" = 8 ] || order=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15
    head="\"figure\":$([ "$ranks" = 8 ] && echo 14 || echo 15)"
    "$pelago" sim -n "$ranks" --machine ha-pacs-host --quiet collectives --operation allgather --bytes "$bytes" --memory 256 --apart \
        --format json --algorithm ring --staging 8K:750:6.714,524280:7600:3.55,1024M:7600:6.714 |
        sed "s/^{/{$head,\"policy\":\"mvapich\",/; s/,\"model\".*/}/"
    "$pelago" sim -n "$ranks" --machine ha-pacs-tca --quiet collectives --operation allgather --bytes "$bytes" --memory 256 --apart \
        --format json --per-host $((ranks / 2)) --order $order --algorithm recursive-doubling --rail tca,ib |
        sed "s/^{/{$head,\"policy\":\"hybrid\",/; s/,\"model\".*/}/"
}

# Himeno's iteration, as in rails.sh: grid, split, ranks, nanoseconds for a cell, policy, nanoseconds besides, how borders travel
himeno() {
    head="\"figure\":$([ "$1" = S ] && echo 9 || echo 10),\"size\":\"$1\",\"split\":\"$2x1\",\"ranks\":$3,\"policy\":\"$5\""
    grid=$1 split=$2 ranks=$3 cell=$4 besides=$6
    shift 6
    "$pelago" sim -n "$ranks" --machine ha-pacs-tca --quiet himeno "$grid" --iterations 20 --split "$split" --no-overlap \
        --cost-cell "$cell" --cost-iteration "$besides" "$@" |
        awk -v head="$head" '$1 == "seconds" { us = $2 / 20 * 1e6 } $1 == "hash" { hash = $2 }
            END { printf "{%s,\"iteration_us\":%.2f,\"hash\":\"%s\"}\n", head, us, hash }'
}

for bytes in $sizes; do
    message "$bytes" tca
    message "$bytes" ib
done
for n in $edges; do
    for shape in $faces; do
        case $shape in
        block) tca=direct ib=direct ;;
        block-stride) tca=direct ib=packed ;;
        stride) tca=packed ib=packed ;;
        esac
        for machine in ha-pacs-tca refitted; do
            face "$shape" "$n" tca $tca $machine
            face "$shape" "$n" ib $ib $machine
        done
    done
done
for grid in $grids; do
    size=${grid%:*} cell=${grid#*:}
    for split in $splits; do
        parts=${split%:*} ranks=${split#*:}
        himeno "$size" "$parts" "$ranks" "$cell" ib 8000 --rail ib --method direct,packed
        himeno "$size" "$parts" "$ranks" "$cell" tca 13200 --rail tca --method direct
        himeno "$size" "$parts" "$ranks" "$cell" hybrid 13200 --rail ib,tca --method direct
        himeno "$size" "$parts" "$ranks" "$cell" auto 8000
    done
done
for bytes in $blocks; do
    allgather 8 "$bytes"
    allgather 16 "$bytes"
done
