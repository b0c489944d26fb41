#!/bin/sh
# Makes anew the files of rows that docs/papers.md takes values from, and then that page: all commands for the figures and tables of the five papers.
#
#     cargo build --release -p pelago-acp -p pelago-cli -p pelago-bench
#     sh docs/evaluation/papers.sh target/release [--quick | --from SCRIPT]
#
# Rows of simulated machines are the same everywhere; those of shm, UDP and computing are of the machine at hand. Each command ends within 10 minutes or is
# ended. docs/evaluation/papers-times.tsv gets the time of each: script, seconds, arguments. All of it takes about an hour of one core; the simulations of
# 65,536 senders need 3 GB of memory.
#
# --quick runs the first of the sizes of each script, in some minutes, and changes nothing but the times, in papers-times-quick.tsv under target.
# --from goes on after an interruption, with this script.
set -eu
built=$(readlink -f "${1:?give the folder of the built programs}")
extent=${2:-all} first=${3:-}
here=$(dirname "$(readlink -f "$0")")
cd "$here"

# The programs again, of which pelago notes how long each of its runs took.
timed=$(mktemp -d)
trap 'rm -rf "$timed"' EXIT
for program in "$built"/*; do
    [ ! -f "$program" ] || ln -s "$program" "$timed/"
done
rm -f "$timed/pelago"
cat >"$timed/pelago" <<'WRAPPER'
#!/bin/sh
begin=$(date +%s.%N)
status=0
timeout 600 "$PAPERS_PELAGO" "$@" || status=$?
end=$(date +%s.%N)
echo "$PAPERS_SCRIPT $begin $end $*" | awk '{ script = $1; seconds = $3 - $2; sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); printf "%s\t%.1f\t%s\n", script, seconds, $0 }' >>"$PAPERS_TIMES"
exit $status
WRAPPER
chmod +x "$timed/pelago"
export PAPERS_PELAGO="$built/pelago" PAPERS_SCRIPT PAPERS_TIMES
PAPERS_TIMES=$here/papers-times.tsv
[ "$extent" != --quick ] || PAPERS_TIMES=$built/papers-times-quick.tsv
[ "$extent" = --from ] || : >"$PAPERS_TIMES"

# script, what the script is given
renew() {
    PAPERS_SCRIPT=$1
    shift
    [ -z "$first" ] || [ "$first" = "$PAPERS_SCRIPT" ] || return 0
    first=
    if [ "$extent" = --quick ]; then
        sh "$PAPERS_SCRIPT.sh" "$@" >"$timed/$PAPERS_SCRIPT.rows"
    else
        # The times of an earlier, interrupted run of this script count no more.
        grep -v "^$PAPERS_SCRIPT	" "$PAPERS_TIMES" >"$timed/times" || :
        cp "$timed/times" "$PAPERS_TIMES"
        sh "$PAPERS_SCRIPT.sh" "$@" >"$timed/$PAPERS_SCRIPT.rows"
        cp "$timed/$PAPERS_SCRIPT.rows" "$PAPERS_SCRIPT.jsonl"
    fi
    echo "$PAPERS_SCRIPT: $(wc -l <"$timed/$PAPERS_SCRIPT.rows") rows" >&2
}

quick=
if [ "$extent" = --quick ]; then
    quick=quick
    ROUNDS=1 REPEAT=100
    export ROUNDS REPEAT
    renew incast-topology "$timed/pelago" 1024
else
    renew rails "$timed/pelago"
    renew rails-baseline "$timed/pelago"
    renew incast-topology "$timed/pelago"
fi
renew rails-figures "$timed/pelago" $quick
renew synchronization "$timed/pelago" $quick
renew fagus "$timed"
renew basic-layer "$timed"
[ -z "$quick" ] || exit 0
cd ../..
PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test papers
