#!/bin/sh
# Everything that needs a GPU, in at most ten minutes: correctness between processes, copies between ranks beside the driver's own, faces by engine and
# kernel; then the host's benchmarks with 2 to 16 ranks, as machines with a GPU have many cores. docs/evaluation/gpu.md says what is expected.
#
#     sh docs/evaluation/gpu.sh PELAGO > gpu-MACHINE-DATE.txt
#
# Exits with 1 if a result is wrong. Without a GPU it says so and ends. PELAGO_CUDA_LIBRARY may name a mock driver, whose times mean nothing.
set -u
pelago=${1:?give the path of the pelago command}
largest=${2:-512,65536}
sizes=${3:-S M L}
wrong=0
end=$(($(date +%s) + 570))

echo "date: $(date -u +%Y-%m-%d), host: $(uname -sr), cores: $(nproc)"
gpus=$("$pelago" info | sed -n 's/^GPUs *//p')
echo "GPUs: $gpus"
case $gpus in '' | no:*) echo "no GPU: nothing is measured"; exit 0 ;; esac

# Says a line and runs a command, as long as there is time.
try() {
    name=$1
    shift
    left=$((end - $(date +%s)))
    [ $left -gt 5 ] || { echo "$name: no time is left"; wrong=1; return; }
    echo "== $name"
    timeout "$left" "$@" || { echo "WRONG: $name"; wrong=1; }
}

# The same hash for all memory, with any number of ranks, over shared memory and datagrams.
for ranks in 1 2 4 8; do
    for kind in host cuda managed; do
        for transport in shm udp; do
            line=$(timeout 60 "$pelago" run -n $ranks --transport $transport gpu --device $kind --words 20000 2>&1) || wrong=1
            echo "$transport $kind: $line"
            hash=$(echo "$line" | sed -n 's/.* hash //p')
            [ "$transport $kind" = "shm host" ] && expected=$hash
            [ -n "$hash" ] && [ "$hash" = "$expected" ] || { echo "WRONG: ranks $ranks, $transport, $kind"; wrong=1; }
        done
    done
done

for ranks in 1 2; do
    try "copies and faces, $ranks ranks" "$pelago" run -n $ranks gpu --bench --largest "$largest"
done

# Five fields of different sizes whose halos are exchanged together.
for ranks in 1 2 4 8; do
    expected=$(timeout 60 "$pelago" run -n $ranks fields --steps 50 | sed -n 's/^hash *//p')
    for method in direct packed; do
        hash=$(timeout 60 "$pelago" run -n $ranks fields --steps 50 --device cuda --method $method | sed -n 's/^hash *//p')
        [ -n "$hash" ] && [ "$hash" = "$expected" ] || { echo "WRONG: fields, $ranks ranks, $method: $hash"; wrong=1; }
    done
done

# Himeno on GPUs gives each cell bitwise what the host gives it; borders from device to device, or staged through the host; in streams or by the host.
for ranks in 1 2 4 8; do
    expected=$(timeout 60 "$pelago" run -n $ranks himeno XS --iterations 10 --b 0.05 | sed -n 's/^hash *//p')
    for method in direct packed; do
        hash=$(timeout 60 "$pelago" run -n $ranks himeno XS --iterations 10 --b 0.05 --device cuda --method $method | sed -n 's/^hash *//p')
        [ -n "$hash" ] && [ "$hash" = "$expected" ] || { echo "WRONG: himeno XS, $ranks ranks, $method: $hash"; wrong=1; }
        # The same in the order of streams, whose words are the credits; without a trial it is not left to the host.
        out=$(timeout 60 "$pelago" run -n $ranks himeno XS --iterations 50 --b 0.05 --device cuda --method $method --queued --trial-limit 0 --explain)
        by_host=$(timeout 60 "$pelago" run -n $ranks himeno XS --iterations 50 --b 0.05 | sed -n 's/^hash *//p')
        hash=$(echo "$out" | sed -n 's/^hash *//p')
        echo "$ranks ranks: $(echo "$out" | grep "^streams $method")"
        [ -n "$hash" ] && [ "$hash" = "$by_host" ] || { echo "WRONG: himeno XS in streams, $ranks ranks, $method: $hash"; wrong=1; }
    done
    for size in $sizes; do
        try "himeno $size on GPUs, $ranks ranks, in streams" "$pelago" run -n $ranks himeno $size --iterations 200 --device cuda --queued --explain
        for method in direct packed; do
            try "himeno $size on GPUs, $ranks ranks, $method" "$pelago" run -n $ranks himeno $size --iterations 200 --device cuda --method $method
        done
    done
done

# The host's cores.
cores=$(nproc)
for ranks in 2 4 8 16; do
    [ $ranks -le "$cores" ] || continue
    try "barrier, $ranks ranks" "$pelago" run -n $ranks barrier
    try "himeno S, $ranks ranks" "$pelago" run -n $ranks himeno S --iterations 200
done
[ $wrong = 0 ] && echo "all results are right" || echo "WRONG results: see above"
exit $wrong
