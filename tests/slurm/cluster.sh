# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: a Slurm of two nodes on this machine, with a configuration of its own.
#
# It takes for granted that this shell is the first process of its own name spaces: the daemons are its
# children in the end, their files are in a tmpfs, and their addresses are those of a loopback that
# nobody else has. So cluster_stop is for a second start alone.
#
# Each slurmd has a host name and a configuration directory of its own. What differs is in mpi.conf:
# PMIx makes a directory for each step, which two nodes with one /tmp would share, and
# PMIxCliTmpDirBase expands no %n.

cluster=/var/lib/slurm # of Debian's packages, so nothing of a user is hidden by the tmpfs on it
cluster_nodes="node1 node2"

# What this machine lacks, one line, or nothing.
cluster_missing() {
    local command
    for command in munged slurmctld slurmd srun salloc sbatch scontrol ip; do
        command -v "$command" >/dev/null || { echo "$command is not installed" && return; }
    done
    ls /usr/lib/*/slurm*/mpi_pmix.so >/dev/null 2>&1 || echo "this Slurm has no plugin for PMIx"
}

# The file systems and the loopback, before anything starts. Slurm resolves names with AI_ADDRCONFIG, which counts
# no address if 127.0.0.1 is the only one.
cluster_ground() {
    mount -t tmpfs tmpfs /dev/shm &&
        mount -t tmpfs -o mode=755 tmpfs "$cluster" &&
        mkdir -m 700 "$cluster/key" && mkdir "$cluster/auth" "$cluster/state" "$cluster/tmp" &&
        ip link set lo up &&
        ip address add 127.0.0.2/8 dev lo &&
        hostname control
}

# The configuration that is the same everywhere, with further lines.
cluster_settings() { # [LINE...]
    cat <<END
ClusterName=rbuf
SlurmctldHost=control(127.0.0.1)
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
ReturnToService=2
NodeName=node1 NodeHostname=node1 NodeAddr=127.0.0.1 Port=7001 CPUs=$(nproc)
NodeName=node2 NodeHostname=node2 NodeAddr=127.0.0.1 Port=7002 CPUs=$(nproc)
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

# The daemons, until both nodes can be had.
cluster_start() {
    local node
    slurmctld -f "$SLURM_CONF" || return
    for node in $cluster_nodes; do
        # shellcheck disable=SC2016 # for the shell in the name space
        unshare --uts sh -c 'hostname "$1" && exec slurmd -N "$1" -f "$2"' sh \
            "$node" "$cluster/$node/slurm.conf" || return
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
