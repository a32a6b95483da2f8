# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the scripts here: runs MPI jobs over rbuf on the emulated adapter, which is asked for
# faults and limits that a real one would not have, and judges how they ended.
#
# Environment: RBUF_BUILD, the build directory (test programs); RBUF_COMPONENT_DIR, the directory of
# mca_btl_rbuf.so; SOFTHCA, the launcher; ROBUST_ALL=yes, the long form; TALLY_LOGS, where logs go.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${RBUF_BUILD:?names the build directory}" "${RBUF_COMPONENT_DIR:?names the directory of mca_btl_rbuf.so}"
softhca=${SOFTHCA:-softhca}
mpirun=${MPIRUN:-mpirun}
mpi_tests=$RBUF_BUILD/tests/mpi
robust_tests=$RBUF_BUILD/tests/robust
robust_all=${ROBUST_ALL:-no}
if [ -z "${TALLY_LOGS-}" ]; then
    TALLY_LOGS=$(mktemp -d) || exit 1
    trap 'rm -rf "$TALLY_LOGS"' EXIT
fi
mkdir -p "$TALLY_LOGS" || exit 1
# shellcheck source=tests/tally.sh
. "$here/../tally.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

hca=()  # options of the emulated adapter for the next jobs
mpi=()  # options of mpirun for the next jobs
wrap=() # what stands between mpirun and the program
btls=rbuf,self

# job NAME LIMIT RANKS PROGRAM [ARGUMENT...]: runs it, at most LIMIT seconds. Sets log (a path),
# status (124: it had to be ended) and took (seconds).
job() {
    local name=$1 limit=$2 ranks=$3 started
    shift 3
    log=$(log_of "$name")
    status=0
    started=$(date +%s.%N)
    timeout -k 5 "$limit" "$softhca" --profile unpaced "${hca[@]}" -- "$mpirun" -np "$ranks" \
        --oversubscribe --bind-to none --mca pml ob1 --mca btl "$btls" --mca osc rdma \
        --mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR" \
        --mca mpi_warn_on_fork 0 "${mpi[@]}" "${wrap[@]}" "$@" >"$log" 2>&1 </dev/null ||
        status=$?
    took=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
}

# The following judge the last job; each prints what is wrong, or nothing.

wrong_crash() {
    grep -m 1 -E 'received signal|Signal: |Segmentation fault|Aborted|core dumped|Assertion|on signal (4|6|7|8|11) ' \
        "$log"
}

wrong_success() { # the job was to end well, its data checked
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif [ "$status" != 0 ]; then
        echo "status $status"
    fi
}

wrong_failure() { # SECONDS: the job was to end with an error, within so many seconds
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif [ "$status" = 0 ]; then
        echo "status 0, though it could not work"
    elif awk "BEGIN { exit !($took > $1) }"; then
        echo "ended only after $took s"
    fi
}

# Counts a check: it passed if WRONG is empty.
verdict() { # NAME WRONG [REMARK]
    if [ -z "$2" ]; then
        pass "$1" "${3-}"
        return
    fi
    fail "$1" "$2"
    show_log "$1" 30
    return 1
}

# The number of lines of the last job's output that match.
lines_with() { # REGEX
    grep -c -E -e "$1" "$log"
}

# Open MPI 4.1's mpirun may lose help messages that two processes send at the same moment (and says
# so): whoever looks for a message runs such a job again.
lost_by_mpirun() {
    grep -q 'ORTE_ERROR_LOG.*show_help.c' "$log"
}
