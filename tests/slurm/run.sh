#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs jobs over rbuf under Slurm, on two nodes of this machine, with the emulated adapter; ends with the line
# "N passed, N failed, N skipped".
#
#   tests/slurm/run.sh
#
# munged, slurmctld and two slurmd (cluster.sh) are started here, in name spaces of their own: of processes,
# mounts, host names, shared memory and the network. Whatever ends this script, the kernel takes
# all of them away, with their files. A Slurm or munged of the system is not touched and not met. What is needed
# and missing here makes the test skipped, with the reason.
#
# A job passes if its program checked its data and found nothing wrong, and if rbuf's report counts the
# processes and nodes that were asked for: Open MPI would else have taken another transport, or each
# process for a job of its own.
#
# Environment: RBUF_BUILD, RBUF_COMPONENT_DIR, SOFTHCA; RBUF_PREFIX, where rbuf is installed (by default
# that of the component); TALLY_LOGS, where logs are kept.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${RBUF_BUILD:?names the build directory}" "${RBUF_COMPONENT_DIR:?names the directory of mca_btl_rbuf.so}"
softhca=$(command -v "${SOFTHCA:-softhca}") || { echo "run.sh: no ${SOFTHCA:-softhca}" >&2 && exit 2; }
prefix=${RBUF_PREFIX:-$(cd "$RBUF_COMPONENT_DIR/../.." && pwd)}
mpi_tests=$RBUF_BUILD/tests/mpi
export TALLY_LOGS=${TALLY_LOGS:-$top/build/logs/slurm}
mkdir -p "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"
# shellcheck source=tests/slurm/cluster.sh
. "$here/cluster.sh"

skip_all() { # REASON
    skip slurm "$1"
    tally
    exit
}

# This script again, first process of its own name spaces. Killing unshare kills all that is in them.
enter() {
    local missing spaces=(unshare --mount --propagation private --ipc --uts --net --pid --fork --mount-proc
        --kill-child)
    missing=$(cluster_missing)
    test -z "$missing" || skip_all "$missing"
    test "$(id -u)" -eq 0 || skip_all "Slurm's daemons take root"
    "${spaces[@]}" true 2>/dev/null || skip_all "name spaces are not permitted here"
    RBUF_SLURM_INSIDE=yes exec "${spaces[@]}" "$0" "$@"
}

# What docs/launchers.md has users export. Only rbuf, so that a node's processes use it too.
environment() {
    local name
    for name in ${!SLURM_*} ${!SALLOC_*} ${!SBATCH_*} ${!PMIX_*} ${!OMPI_*}; do
        test "$name" = SLURM_CONF || unset "$name"
    done
    export TMPDIR=$cluster/tmp
    export OMPI_MCA_mca_base_component_path=SYS_DEFAULT:$RBUF_COMPONENT_DIR
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=rbuf,self OMPI_MCA_osc=rdma
    export OMPI_MCA_btl_rbuf_report=1
    export OMPI_MCA_mpi_yield_when_idle=1 # there may be fewer processors than processes here
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# job NAME LIMIT COMMAND...: runs it on the emulated adapter, at most LIMIT seconds. Sets log (a path),
# status (124, 137: it had to be ended) and took (seconds).
job() {
    local limit=$2 started
    log=$(log_of "$1")
    status=0
    shift 2
    started=$(date +%s.%N)
    timeout -k 5 "$limit" "$softhca" --profile unpaced -- "$@" >"$log" 2>&1 </dev/null || status=$?
    took=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    case $status in
    124 | 137) scancel --user=root --signal=KILL && cluster_wait 30 >>"$log" 2>&1 ;;
    esac
}

# Counts a check: it passed if WRONG is empty.
verdict() { # NAME WRONG [REMARK]
    if test -z "$2"; then
        pass "$1" "${3-}"
    else
        fail "$1" "$(paste -sd ';' <<<"$2")"
        show_log "$1"
    fi
}

# The following say what is wrong with the last job, or nothing.

wrong_end() {
    case $status in
    0) ;;
    124 | 137) echo "hangs: no end after $took s" ;;
    *) echo "status $status" ;;
    esac
}

wrong_data() { # PROCESSES NODES [JOBS]
    local processes=$1 nodes=$2 jobs=${3:-1} of
    of="$processes processes on $nodes node"
    test "$nodes" = 1 || of+=s
    wrong_end
    test "$(grep -c -E '^[1-9][0-9]* checks, 0 wrong$' "$log")" -eq "$jobs" || echo "no data was checked"
    test "$(grep -c "^rbuf-report: $of, .* port softhca0:1\$" "$log")" -eq "$jobs" ||
        echo "not $of over rbuf: $(grep -m 1 '^rbuf-report' "$log")"
    test "$(grep -c '^rbuf-report: messages: [1-9]' "$log")" -eq "$jobs" || echo "rbuf has no messages"
}

# right NAME PROCESSES NODES COMMAND...: a job whose data is right.
right() {
    job "$1" 120 "${@:4}"
    verdict "$1" "$(wrong_data "$2" "$3")" "$took s"
}

srun_pmix=(srun --mpi=pmix)

test "${RBUF_SLURM_INSIDE-}" = yes || enter "$@"
trap 'exit 143' INT TERM
cluster_ground 2>"$(log_of ground)" || skip_all "no ground for it: $(tail -n 1 "$(log_of ground)")"
environment
try "configuration" cluster_configure
try "munged" cluster_munge && try "slurmctld and two slurmd" cluster_start || {
    tally
    exit 1
}
right "srun, a node" 2 1 "${srun_pmix[@]}" -N1 -n2 "$mpi_tests/pingpong"
right "srun, two nodes" 2 2 "${srun_pmix[@]}" -N2 -n2 "$mpi_tests/pingpong"
tally
