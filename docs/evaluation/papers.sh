#!/bin/sh
# Makes anew what docs/papers.md is made of, and then that page: all commands for the figures and tables of the five papers.
#
#     cargo build --release -p pelago-acp -p pelago-cli -p pelago-bench
#     sh docs/evaluation/papers.sh target/release
#
# Rows of simulated machines are the same everywhere; those of shm, UDP and computing are of the machine at hand.
set -eu
built=$(readlink -f "${1:?give the folder of the built programs}")
cd "$(dirname "$(readlink -f "$0")")"

# file, script, what the script is given
renew() {
    script=$1
    shift
    sh "$script.sh" "$@" >"$script.new"
    mv "$script.new" "$script.jsonl"
}

renew rails "$built/pelago"
renew rails-baseline "$built/pelago"
renew rails-figures "$built/pelago"
renew synchronization "$built/pelago"
renew fagus "$built"
renew basic-layer "$built"
cd ../..
PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test papers
