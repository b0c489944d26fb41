#!/bin/sh
# Plain loops of single messages to one rank over the loopback network, by turns: Pelago's mailbox over UDP, and MPI_Send of Open MPI over TCP.
# Prints the median of messages per second of each, and the ratio; then the same of messages of 8 bytes to and fro, by half of the round trip (a ratio above 1: Pelago is
# ahead). Usage: messages.sh [TURNS] [PELAGO] [SLOTS] [MESSAGES]
# Needs: apt-get install openmpi-bin libopenmpi-dev; cargo build --release
set -eu
turns=${1:-5} pelago=${2:-pelago} slots=${3:-256} messages=${4:-200000} bytes=64
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc.openmpi -O2 -Wall -Wextra -o "$work/messages" "$here/messages.c"
for turn in $(seq "$turns"); do
    # A tenth of the messages, each way.
    "$pelago" run -n 2 --transport udp latency --operation message --bytes 8 --repeat $((messages / 10)) |
        awk '{ for (i = 1; i < NF; i++) if ($i == "p50") print "pong pelago", $(i + 1) * 500 }'
    mpirun.openmpi --allow-run-as-root --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo -n 2 "$work/messages" $((messages / 10)) 8 pong |
        sed -n "s/.*\"value\":\([0-9.]*\).*/pong openmpi \1/p"
    for senders in 1 3 7; do
        ranks=$((senders + 1))
        "$pelago" run -n $ranks --transport udp incast --messages "$messages" --bytes $bytes --slots "$slots" --format json |
            sed -n "s/.*\"messages_per_second\":\([0-9.]*\).*/$senders pelago \1/p"
        mpirun.openmpi --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,tcp \
            --mca btl_tcp_if_include lo -n $ranks "$work/messages" "$messages" $bytes |
            sed -n "s/.*\"value\":\([0-9.]*\).*/$senders openmpi \1/p"
    done
done > "$work/all"
sort -k1,1n -k2,2 -k3,3g "$work/all" | awk -v slots="$slots" '
    { n[$1, $2]++; v[$1, $2, n[$1, $2]] = $3; if (!($1 in seen)) { seen[$1] = 1; order[++all] = $1 } }
    function middle(s, who) { return v[s, who, int((n[s, who] + 1) / 2)] }
    END {
        printf "%7s %6s %18s %18s %6s\n", "senders", "slots", "Pelago messages/s", "Open MPI", "ratio"
        for (i = 1; i <= all; i++) { s = order[i]; if (s == "pong") continue; p = middle(s, "pelago"); o = middle(s, "openmpi"); printf "%7d %6d %18.0f %18.0f %6.2f\n", s, slots, p, o, p / o }
        printf "8 bytes to and fro, half of it: Pelago %.0f ns, Open MPI %.0f ns, ratio %.2f\n", middle("pong", "pelago"), middle("pong", "openmpi"), middle("pong", "openmpi") / middle("pong", "pelago")
    }'
