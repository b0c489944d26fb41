# Sourced by scripts that need two hosts on a wire: $one and $other are their names, $subnet the first three bytes of their addresses, $folder is removed at the end.
# The hosts are network namespaces; needs root, ip, nft and taskset. `lose N` has both drop N of 10,000 packets at random, as they come.
# `$shell` is a command that runs another one on a host. Each host has half of the cores, as hosts have cores of their own: otherwise the scheduler sometimes keeps
# threads of both on one core for tens of milliseconds.
clean() {
    ip netns delete "$one" 2>/dev/null || true
    ip netns delete "$other" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM
ip netns add "$one"
ip netns add "$other"
ip -n "$one" link add name net mtu 1500 type veth peer name net mtu 1500 netns "$other"
for host in "$one" "$other"; do
    ip -n "$host" address add "$subnet.${host##*-}/24" dev net
    ip -n "$host" link set dev lo up
    # One packet for each datagram or segment, as between machines.
    ip -n "$host" link set dev net up gso_max_segs 1
done
half=$(($(nproc) / 2))
[ "$half" -ge 1 ] || { echo "two hosts need two cores" >&2; exit 1; }
cat >"$folder/host" <<SHELL
#!/bin/sh
host=\$1; shift
first=\$(((\${host##*-} - 1) * $half))
exec ip netns exec "\$host" taskset -c \$first-\$((first + $half - 1)) sh -c "\$*"
SHELL
chmod +x "$folder/host"
shell="$folder/host {host}"
# The wire takes a moment before it carries anything.
sleep 2
lose() {
    for host in "$one" "$other"; do
        ip netns exec "$host" nft flush ruleset
        [ "$1" = 0 ] && continue
        ip netns exec "$host" nft "add table inet loss; add chain inet loss input { type filter hook input priority 0; }"
        ip netns exec "$host" nft "add rule inet loss input numgen random mod 10000 < $1 counter drop"
    done
}
