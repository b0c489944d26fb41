#!/bin/sh
# Updates at owners, remote atomics and k-mers, over shared memory and over UDP, by turns.
#   sh tools/peers/updates.sh TURNS PELAGO
# Prints each run; a median is taken over the turns of one line.
set -eu
turns=${1:-5}
pelago=${2:-target/release/pelago}
reads=$(mktemp /tmp/pelago-reads.XXXXXX)
trap 'rm -f "$reads"' EXIT
"$pelago" run -n 1 kmers "$reads" --generate 2000000 --expect 300000 >/dev/null
for turn in $(seq "$turns"); do
    for ranks in 2 3; do
        for transport in shm udp; do
            printf '%s %s ' "$turn" "$transport"
            "$pelago" run -n "$ranks" --transport "$transport" kmers "$reads" --k 21 --expect 300000 | head -n 1
        done
    done
    for transport in shm udp; do
        for by in atomics messages map; do
            printf '%s %s ' "$turn" "$transport"
            "$pelago" run -n 2 --heap 256M --transport "$transport" gups --log-words 16 --updates 32 --by "$by"
        done
        for program in 'uts --root 20000' 'bfs --scale 15'; do
            printf '%s %s ' "$turn" "$transport"
            # The words of a program are its name and its arguments.
            "$pelago" run -n 2 --heap 256M --transport "$transport" $program
        done
    done
done
