#!/bin/sh
# Fifteen ranks of one host send to one, with this library and with Open MPI by turns: what docs/evaluation/incast.md shows. Prints one JSON object
# for each run. Usage: incast-openmpi.sh PELAGO INCAST_MPI rate|memory [TURNS]; INCAST_MPI is tools/peers/incast.c, compiled.
set -eu
pelago=$1 peer=$2 part=$3 turns=${4:-5}
mpi() { mpirun -n 16 --oversubscribe --mca mpi_yield_when_idle 1 --mca btl self,vader "$peer" "$@"; }
ours() { "$pelago" run -n 16 incast --method acquire --bytes 64 --slots 4096 --format json --peak "$@"; }
case $part in
rate)
    # As many messages as one acquisition makes room for: one, as a program that sends now and then; and several, as one that has them.
    for turn in $(seq "$turns"); do
        mpi 100000 64 sleep 0
        for batch in 1 16 128; do ours --messages 100000 --batch $batch; done
    done
    ;;
memory)
    # The receiver comes a second late: asleep, or inside MPI, waiting for something else.
    for messages in 1000 2000 5000 10000 20000 40000; do
        mpi $messages 64 sleep 1000
        mpi $messages 64 wait 1000
        ours --messages $messages --sleep-ms 1000
    done
    ;;
esac
