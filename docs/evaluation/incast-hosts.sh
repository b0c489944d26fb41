#!/bin/sh
# Ranks of several hosts send to one over UDP, with one counter and with a server on each host, beside Open MPI over TCP, by turns: what
# docs/evaluation/incast.md shows. The hosts are network namespaces on a bridge; needs root, ip and Open MPI. Prints one JSON object for each run.
# Usage: incast-hosts.sh PELAGO INCAST_MPI [HOSTS RANKS_PER_HOST MESSAGES TURNS]; INCAST_MPI is tools/peers/incast.c, compiled.
set -eu
pelago=$(realpath "$1") peer=$(realpath "$2") hosts=${3:-3} each=${4:-4} messages=${5:-5000} turns=${6:-5}
prefix=incast-$$ folder=$(mktemp -d)
clean() {
    for host in $names; do ip netns delete "$host" 2>/dev/null || true; done
    ip netns delete "$prefix-+" 2>/dev/null || true
    rm -rf "$folder"
}
names=''
trap clean EXIT
ip netns add "$prefix-+"
ip -n "$prefix-+" link add name bridge type bridge
ip -n "$prefix-+" link set dev bridge up
for number in $(seq "$hosts"); do
    host=$prefix-$number names="$names $host"
    ip netns add "$host"
    ip -n "$prefix-+" link add name "port$number" mtu 1500 type veth peer name net mtu 1500 netns "$host"
    ip -n "$prefix-+" link set dev "port$number" master bridge up
    ip -n "$host" address add "10.79.0.$number/24" dev net
    ip -n "$host" link set dev lo up
    # One packet for each datagram or segment, as between machines.
    ip -n "$host" link set dev net up gso_max_segs 1
done
list=$(echo $names | sed "s/ /:$each,/g"):$each ranks=$((hosts * each))
# Open MPI tells hosts apart by their names, which namespaces of the network do not have of their own.
cat >"$folder/shell" <<'SHELL'
#!/bin/sh
host=$1; shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
SHELL
chmod +x "$folder/shell"
first=${names# }; first=${first%% *}
mpi() {
    ip netns exec "$first" unshare --uts sh -c "hostname $first; exec mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 \
        --mca plm_rsh_agent $folder/shell --mca pml ob1 --mca btl self,vader,tcp --mca btl_tcp_if_include net --mca oob_tcp_if_include net \
        --host $list -n $ranks $peer $messages 64 sleep 0"
}
ours() {
    "$pelago" run -n "$ranks" --hosts "$list" --remote-shell 'ip netns exec {host}' incast --messages "$messages" --bytes 64 --format json "$@"
}
for turn in $(seq "$turns"); do
    mpi
    for batch in 1 16; do
        for method in acquire acquire-proxy "acquire-split:$hosts" acquire-auto; do ours --method "$method" --slots 4096 --batch $batch; done
    done
done
