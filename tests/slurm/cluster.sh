# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: a Slurm of two nodes on this machine, with a configuration of its own.
#
# It takes for granted that this shell is the first process of its own name spaces: the daemons are its
# children in the end, their files are in a tmpfs, and their network is one that nobody else has.
#
# Each node has a host name, a network stack with one address and a configuration directory of its own. What
# differs there is mpi.conf: PMIx makes a directory for each step, which two nodes with one /tmp would
# share, and PMIxCliTmpDirBase expands no %n. The commands run on a third host, control, as on a login node.

cluster=/var/lib/slurm # of Debian's packages, so nothing of a user is hidden by the tmpfs on it
cluster_nodes="node1 node2"
cluster_net=192.0.2 # of no network (RFC 5737); a node's number comes behind, and 9 for control

# What this machine lacks, one line, or nothing.
cluster_missing() {
    local command
    for command in munged slurmctld slurmd srun salloc sbatch scontrol ip pgrep prlimit; do
        command -v "$command" >/dev/null || { echo "$command is not installed" && return; }
    done
}

# True if srun can start ranks that use PMIx. (Debian's Slurm 26.05 is built without.)
cluster_has_pmix() {
    srun --mpi=list 2>&1 | grep -qw pmix
}

# The file systems, and the host control with the bridge that all are at.
cluster_ground() {
    mount -t tmpfs tmpfs /dev/shm &&
        mount -t tmpfs -o mode=755 tmpfs "$cluster" &&
        mkdir -m 700 "$cluster/key" && mkdir "$cluster/auth" "$cluster/state" "$cluster/tmp" &&
        cluster_hosts >"$cluster/hosts" &&
        mount --bind "$cluster/hosts" /etc/hosts &&
        hostname control &&
        ip link set lo up &&
        ip link add net0 type bridge &&
        ip address add $cluster_net.9/24 dev net0 &&
        ip link set net0 up
}

# Slurm 24.11 asks for the address of the host where srun runs, by name.
cluster_hosts() {
    local node
    printf '127.0.0.1 localhost\n%s control\n' $cluster_net.9
    for node in $cluster_nodes; do echo "$cluster_net.${node#node} $node"; done
}

# The configuration that is the same everywhere, with further lines.
cluster_settings() { # [LINE...]
    cat <<END
ClusterName=rbuf
SlurmctldHost=control($cluster_net.9)
SlurmUser=root
AuthInfo=socket=$cluster/auth/socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n/slurmd.pid
SlurmctldLogFile=$TALLY_LOGS/slurmctld.log
SlurmdLogFile=$TALLY_LOGS/%n.log
MailProg=/bin/true
DebugFlags=NO_CONF_HASH
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=5
MessageTimeout=60
ReturnToService=2
NodeName=node1 NodeAddr=$cluster_net.1 CPUs=$(nproc)
NodeName=node2 NodeAddr=$cluster_net.2 CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES
END
    test $# -eq 0 || printf '%s\n' "$@"
}

# Writes it for each daemon and for the commands.
cluster_configure() { # [LINE...]
    local place
    for place in control $cluster_nodes; do
        mkdir -p "$cluster/$place/spool" "$cluster/$place/pmix" &&
            cluster_settings "$@" >"$cluster/$place/slurm.conf" &&
            echo "PMIxCliTmpDirBase=$cluster/$place/pmix" >"$cluster/$place/mpi.conf" || return
    done
    export SLURM_CONF=$cluster/control/slurm.conf
}

# munged, of which the daemons and commands prove to each other who they are.
cluster_munge() {
    head -c 1024 /dev/urandom >"$cluster/key/key" && chmod 400 "$cluster/key/key" &&
        munged --socket="$cluster/auth/socket" --key-file="$cluster/key/key" --pid-file="$cluster/key/pid" \
            --seed-file="$cluster/key/seed" --log-file="$cluster/key/log" --num-threads=2
}

# A node: a host on the bridge, where slurmd becomes a daemon.
cluster_node() { # NAME
    local pid
    # shellcheck disable=SC2016 # for the shell in the name spaces
    unshare --uts --net sh -c 'hostname "$1" && ip link set lo up &&
        until ip address add "$3.${1#node}/24" dev eth0; do sleep 0.1; done 2>/dev/null &&
        ip link set eth0 up && ulimit -l "$(ulimit -H -l)" && exec slurmd -N "$1" -f "$2"' sh "$1" "$cluster/$1/slurm.conf" $cluster_net &
    pid=$!
    until test "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/$$/ns/net)"; do
        kill -0 $pid && sleep 0.1 || return
    done
    ip link add "$1" master net0 up type veth peer name eth0 netns $pid && wait $pid
}

# The daemons, until both nodes can be had.
cluster_start() {
    local node
    slurmctld -f "$SLURM_CONF" || return
    for node in $cluster_nodes; do
        cluster_node "$node" || return
    done
    cluster_wait 60
}

cluster_wait() { # SECONDS
    local end=$((SECONDS + $1))
    while test $SECONDS -lt $end; do
        test "$(sinfo --noheader --format=%T:%D 2>/dev/null)" = idle:2 && return
        sleep 0.2
    done
    sinfo
    return 1
}

# The configuration anew, with further lines, while the daemons run.
cluster_reconfigure() { # [LINE...]
    cluster_configure "$@" && scontrol reconfigure && cluster_wait 30
}

# What jobs have left on the nodes: processes, files, shared memory; nothing, if all went well.
cluster_left() {
    local pid name
    for pid in /proc/[0-9]*; do
        pid=${pid#/proc/}
        name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
        case $name in
        munged | slurmctld | slurmscriptd | slurmd | slurmctld-wlm | slurmd-wlm) ;;
        *) test "$pid" = 1 || test "$pid" = "$BASHPID" || test "$name" = cat || echo "process $name" ;;
        esac
    done
    find "$cluster"/*/pmix "$cluster/tmp" /dev/shm -mindepth 1
}
