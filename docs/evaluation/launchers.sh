#!/bin/sh
# Programs under other launchers, on one host and on two, with block and round-robin placement: the table of docs/evaluation/launchers.md.
# Hosts are network namespaces with host names of their own, or Slurm's nodes on this machine; needs root and ip. Launchers that are not installed
# are left out, with a line that says so. Usage: [PROGRAMS='ring himeno counter kmers'] launchers.sh PELAGO [RANKS …]; HYDRA and PRTERUN
# name other commands than mpiexec.hydra and prterun, LAUNCHERS those to try (such as 'hydra allocated'). ACP names bindings/acp/tests/c/ring.c as a program
# (acpcc -o ring ring.c), which is then run too.
set -u
pelago=$(realpath "$1"); shift
ranks=${*:-1 2 4 7}
folder=$(mktemp -d) prefix=launchers-$$ munged='' running=''
PELAGO_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
clean() {
    trap '' INT TERM
    [ -z "$running" ] || kill "$running" 2>/dev/null
    # While Slurm's daemons are there to do so, they end the steps of a run that was interrupted.
    if [ -n "${SLURM_CONF:-}" ]; then
        squeue -h -o %i 2>/dev/null | xargs -r scancel 2>/dev/null
        for _ in $(seq 25); do [ -z "$(squeue -h 2>/dev/null)" ] && break; sleep 0.2; done
    fi
    for place in 1 2; do ip netns pids "$prefix-$place" 2>/dev/null | xargs -r kill 2>/dev/null; done
    for daemon in "$folder"/*.pid; do [ -s "$daemon" ] && kill "$(cat "$daemon")" 2>/dev/null; done
    [ -z "$munged" ] || kill "$munged" 2>/dev/null
    sleep 0.5
    for place in 1 2; do ip netns pids "$prefix-$place" 2>/dev/null | xargs -r kill -9 2>/dev/null; done
    # What is left, such as slurmstepd, has a file of the folder open.
    holders | xargs -r kill 2>/dev/null
    sleep 0.5
    holders | xargs -r kill -9 2>/dev/null
    for place in + 1 2; do ip netns delete "$prefix-$place" 2>/dev/null; done
    rm -rf "$folder"
}
# Other processes that have a file of the folder open.
holders() { find /proc/[0-9]*/fd -lname "$folder/*" 2>/dev/null | cut -d/ -f3 | sort -u | grep -vx $$; }
trap clean EXIT
trap 'exit 1' INT TERM

# Two hosts, 10.78.0.1 and 10.78.0.2.
ip netns add "$prefix-+" && ip -n "$prefix-+" link add name bridge type bridge && ip -n "$prefix-+" link set dev bridge up || exit 1
for number in 1 2; do
    host=$prefix-$number
    ip netns add "$host"
    ip -n "$prefix-+" link add name "port$number" type veth peer name net netns "$host"
    ip -n "$prefix-+" link set dev "port$number" master bridge up
    ip -n "$host" address add "10.78.0.$number/24" dev net
    ip -n "$host" link set dev lo up
    ip -n "$host" link set dev net up
done
# A remote shell to a host by name or address: host, and then a command. Hydra puts an option first.
cat >"$folder/shell" <<SHELL
#!/bin/sh
while case \$1 in -*) true ;; *) false ;; esac; do shift; done
place=\${1#10.78.0.}; place=\${place#$prefix-}; shift
exec ip netns exec $prefix-\$place unshare --uts sh -c "hostname $prefix-\$place; \$*"
SHELL
chmod +x "$folder/shell"
on_first() { "$folder/shell" 10.78.0.1 "$@"; }

# Each launcher: ranks, hosts (1 or 2), placement (block or cyclic), command.
hydra() {
    slots=$(($1)); [ "$2" = 2 ] && slots=$((($1 + 1) / 2)); [ "$3" = cyclic ] && slots=1
    list=10.78.0.1:$slots; [ "$2" = 2 ] && list=$list,10.78.0.2:$slots
    count=$1; shift 3
    on_first "$HYDRA" -launcher ssh -launcher-exec "$folder/shell" -iface net -n "$count" -hosts "$list" "$@"
}
open_mpi() {
    slots=$(($1)); [ "$2" = 2 ] && slots=$((($1 + 1) / 2))
    list=$prefix-1:$slots; [ "$2" = 2 ] && list=$list,$prefix-2:$slots
    by=slot; [ "$3" = cyclic ] && by=node
    count=$1; shift 3
    on_first mpirun.openmpi --allow-run-as-root --oversubscribe --map-by "$by" --mca plm_rsh_agent "$folder/shell" \
        --mca oob_tcp_if_include net --host "$list" -n "$count" "$@"
}
prte() {
    slots=$(($1)); [ "$2" = 2 ] && slots=$((($1 + 1) / 2))
    list=$prefix-1:$slots; [ "$2" = 2 ] && list=$list,$prefix-2:$slots
    by=slot; [ "$3" = cyclic ] && by=node
    count=$1; shift 3
    on_first env PATH="$(dirname "$(command -v "$PRTERUN")"):$PATH" PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$PRTERUN" --map-by "$by:OVERSUBSCRIBE" \
        --prefix "$(dirname "$(dirname "$(command -v "$PRTERUN")")")" --prtemca plm_ssh_agent "$folder/shell" --prtemca prte_if_include net --host "$list" -n "$count" "$@"
}
srun_by() {
    plugin=$1 count=$2 nodes=$3 by=$4; shift 4
    [ "$nodes" -gt "$count" ] && nodes=$count
    MASTER_ADDR=127.0.0.1 srun --mpi="$plugin" -Q --overcommit -N "$nodes" -n "$count" -m "$by" "$@"
}
slurm_pmi2() { srun_by pmi2 "$@"; }
slurm_pmix() { srun_by pmix "$@"; }
slurm_plain() { srun_by none "$@"; }
# Our own launcher in an allocation: of Slurm, and with the two hosts in a file as PBS writes it, a line for each slot.
slurm_allocation() {
    count=$1 nodes=$2; shift 5
    [ "$nodes" -gt "$count" ] && nodes=$count
    salloc -Q --overcommit -N "$nodes" -n "$count" "$pelago" run --time-limit 60 "$@"
}
pbs_allocation() {
    count=$1 hosts=$2; shift 5
    for rank in $(seq 0 $((count - 1))); do echo "10.78.0.$((rank * hosts / count + 1))"; done >"$folder/nodes"
    mkdir -p "$folder/bin" && ln -sf "$folder/shell" "$folder/bin/ssh"
    PATH=$folder/bin:$PATH PBS_NODEFILE=$folder/nodes "$pelago" run --time-limit 60 "$@"
}
# Variables as torchrun sets them, by hand.
torchrun_style() {
    count=$1 hosts=$2 by=$3 processes=''; shift 3
    for rank in $(seq 0 $((count - 1))); do
        if [ "$by" = cyclic ]; then place=$((rank % hosts + 1)); else place=$((rank * hosts / count + 1)); fi
        "$folder/shell" 10.78.0.$place env RANK="$rank" WORLD_SIZE="$count" LOCAL_RANK=0 MASTER_ADDR=10.78.0.1 MASTER_PORT=29500 "$@" &
        processes="$processes $!"
    done
    code=0
    for process in $processes; do wait "$process" || code=$?; done
    return $code
}

# Slurm with two nodes on this machine.
start_slurm() {
    command -v slurmctld >/dev/null && command -v munged >/dev/null || { echo "not tried: Slurm is not installed (Debian: slurm-wlm, munge)" >&2; return 1; }
    # Authentication and ports of its own, so that neither another Slurm nor another run of this script is in the way.
    chmod 755 "$folder"
    mkdir "$folder/munge" && dd if=/dev/urandom of="$folder/munge/key" bs=64 count=1 2>/dev/null && chmod 600 "$folder/munge/key" &&
        chown -R munge: "$folder/munge" && runuser -u munge -- munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" \
        --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" || return 1
    munged=$(cat "$folder/munge/pid")
    port=$((17000 + $$ % 800 * 4))
    name=$(hostname)
    export SLURM_CONF=$folder/slurm.conf
    cat >"$SLURM_CONF" <<CONF
ClusterName=launchers
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/d.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/d.%n.log
TmpFS=$folder/tmp.%n
NodeName=n1 NodeHostname=$name NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=16
NodeName=n2 NodeHostname=$name NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=16
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
    mkdir -p "$folder/state" "$folder/spool.n1" "$folder/spool.n2" "$folder/tmp.n1" "$folder/tmp.n2"
    slurmctld -f "$SLURM_CONF" && slurmd -f "$SLURM_CONF" -N n1 && slurmd -f "$SLURM_CONF" -N n2 || return 1
    for _ in $(seq 50); do
        [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && return 0
        sleep 0.2
    done
    echo "not tried: Slurm's nodes do not become idle" >&2
    return 1
}

# What each program has to print: the ring one line per rank, the solver its hash, the counter its turns.
check() {
    case $1 in
    ring) [ "$(grep -c '^rank [0-9]* holds' "$2")" = "$3" ] ;;
    himeno) grep -q '^hash.*79dc8598e66ba7bc$' "$2" ;;
    counter) grep -q "^counter ranks $3 .* turns $((1000 * $3)) " "$2" ;;
    kmers) grep -q '^kmers counts equal to those of one rank alone$' "$2" ;;
    acp) [ "$(grep -c "^rank [0-9]* of $3 holds [0-9]*$" "$2")" = "$3" ] && [ "$(grep -c holds "$2")" = "$3" ] ;;
    esac
}
table() {
    launcher=$1 title=$2
    for program in ${PROGRAMS:-ring himeno counter kmers} ${ACP:+acp}; do
        command="$pelago bundled $program"
        case $program in
        himeno) command="$command S --iterations 3" ;;
        kmers) command="$command $folder/reads.fa --expect 20000 --verify" ;;
        acp) command=$ACP ;;
        esac
        for hosts in 1 2; do
            for by in $placements; do
                [ "$hosts$by" = 1cyclic ] && continue
                row=''
                for count in $ranks; do
                    # shellcheck disable=SC2086 # words of a command
                    (export PELAGO_SECRET; "$launcher" "$count" "$hosts" "$by" timeout 60 $command) >"$folder/out" 2>"$folder/err" </dev/null &
                    # In the background, because a signal is handled after a command in the foreground, and at once during a wait.
                    running=$!; wait "$running"; code=$?; running=''
                    if [ $code = 0 ] && check "$program" "$folder/out" "$count"; then
                        row="$row yes |"
                    else
                        row="$row **no** ($code) |"
                        { echo "$title $program $hosts $by $count:"; head -5 "$folder/err"; } >&2
                    fi
                done
                echo "| $title | $program | $hosts | $by |$row"
            done
        done
    done
}
echo "| launcher | program | hosts | placement |$(for count in $ranks; do printf ' n = %s |' "$count"; done)"
echo "|---|---|---|---|$(for count in $ranks; do printf -- '---|'; done)"
HYDRA=${HYDRA:-mpiexec.hydra} PRTERUN=${PRTERUN:-prterun} placements='block cyclic'
[ -z "${ACP:-}" ] || ACP=$(realpath "$ACP")
"$pelago" run -n 1 kmers "$folder/reads.fa" --generate 6000 --expect 20000 >/dev/null || exit 1
chmod 755 "$folder"
# Whether a launcher is to be tried; where a command is given, whether it is there.
tried() {
    case " ${LAUNCHERS:-hydra open_mpi prte torchrun_style slurm allocated} " in *" $1 "*) ;; *) return 1 ;; esac
    [ -z "${2:-}" ] || command -v "$2" >/dev/null || { echo "not tried: $2 is not installed ($3)" >&2; return 1; }
}
tried hydra "$HYDRA" "Debian: mpich" && table hydra "mpiexec.hydra"
tried open_mpi mpirun.openmpi "Debian: openmpi-bin" && table open_mpi "mpirun.openmpi"
tried prte "$PRTERUN" "Python package openmpi" && table prte "prterun"
tried torchrun_style && table torchrun_style "torchrun style"
if tried allocated; then
    placements=block
    table pbs_allocation "pelago run, PBS_NODEFILE and ssh"
    placements='block cyclic'
fi
[ -z "${WITHOUT_SLURM:-}" ] || exit 0
tried slurm || tried allocated || exit 0
start_slurm || exit 0
if tried allocated; then
    placements=block
    table slurm_allocation "pelago run in salloc"
    placements='block cyclic'
fi
if tried slurm; then
    table slurm_pmi2 "srun --mpi=pmi2"
    if ! srun --mpi=list 2>&1 | grep -q pmix; then
        echo "not tried: Slurm has no PMIx plugin" >&2
    elif srun --mpi=pmix true 2>&1 | grep -q "can not load PMIx library"; then
        echo "not tried: Slurm's PMIx plugin finds no libpmix.so (Debian: libpmix-dev)" >&2
    else
        table slurm_pmix "srun --mpi=pmix"
    fi
    table slurm_plain "srun --mpi=none"
fi
