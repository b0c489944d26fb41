#!/bin/sh
# Tables 1 to 3 of paper C on the simulated machines, and messages and barriers here: what docs/evaluation/fagus.md tells.
#
#     sh docs/evaluation/fagus.sh FOLDER > docs/evaluation/fagus.jsonl
#
# FOLDER has what cargo build --release -p pelago-cli -p pelago-bench made. Simulated rows are the same everywhere; rows of shm and udp are real time, each of
# REPEAT messages and barriers (1000 unless set), by turns in ROUNDS rounds (11 unless set).
set -eu
built=${1:?give the folder of the built programs}

"$built/pelago-fagus" "$built/pelago" --json

# All cores, then one, as each PC of the paper has.
all=$(nproc)
for round in $(seq "${ROUNDS:-11}"); do
    for transport in shm udp; do
        for cores in $all 1; do
            for progress in manual thread; do
                taskset -c 0-$((cores - 1)) "$built/pelago" run -n 2 --transport $transport --progress $progress \
                    fagus --repeat "${REPEAT:-1000}" --warm-up 100 |
                    awk -v head="\"transport\":\"$transport\",\"cores\":$cores,\"round\":$round,\"progress\":\"$progress\"" \
                        '$1 == "message" { sent = $6; answered = $9 }
                         $1 == "barrier" { printf "{%s,\"sent_us\":%s,\"answered_us\":%s,\"barrier_us\":%s}\n", head, sent, answered, $5 }'
            done
        done
    done
done
