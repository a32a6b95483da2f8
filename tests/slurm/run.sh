#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs jobs over rbuf under Slurm, on two nodes of this machine, with the emulated adapter; ends with the line
# "N passed, N failed, N skipped".
#
#   tests/slurm/run.sh [--all] [--suite trixie|unstable]   with --all: all protocols as well
#
# It takes this machine's Slurm and Open MPI; with --suite those of that release of Debian, with rbuf built for them in
# a chroot (tests/ompi). The jobs start by srun if this Slurm has the plugin for PMIx, and by mpirun in an allocation.
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
long=no
suite=
arguments=("$@")
while test $# -gt 0; do
    case $1 in
    --all) long=yes ;;
    --suite) suite=${2:?--suite wants a release of Debian} && shift ;;
    *) echo "usage: run.sh [--all] [--suite trixie|unstable]" >&2 && exit 2 ;;
    esac
    shift
done
if test -n "$suite"; then
    test $long = no || set -- --all
    exec "$top/tests/ompi/run.sh" "$@" --slurm "$suite"
fi
: "${RBUF_BUILD:?names the build directory}" "${RBUF_COMPONENT_DIR:?names the directory of mca_btl_rbuf.so}"
softhca=$(command -v "${SOFTHCA:-softhca}") || { echo "run.sh: no ${SOFTHCA:-softhca}" >&2 && exit 2; }
series=$(mpirun --version 2>/dev/null | sed -n 's/.*(Open MPI) \([0-9]*\).*/\1/p')
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

programs_of_tests() {
    local directory
    for directory in mpi robust; do
        test ! -f "$RBUF_BUILD/tests/$directory/Makefile" || make -C "$RBUF_BUILD/tests/$directory" check TESTS= || return
    done
}

# This script again, first process of its own name spaces. Killing unshare kills all that is in them.
enter() {
    local missing spaces=(unshare --mount --propagation private --ipc --uts --net --pid --fork --mount-proc
        --kill-child)
    missing=$(cluster_missing)
    test -z "$missing" || skip_all "$missing"
    test "$(id -u)" -eq 0 || skip_all "Slurm's daemons take root"
    programs_of_tests >"$(log_of programs)" 2>&1 || { echo "run.sh: the programs cannot be made" >&2 && exit 2; }
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
    # mpirun of Open MPI 5 hands that path to PMIx too, which would complain of what it does not know there.
    test "$series" -lt 5 || PMIX_MCA_mca_base_component_path=$(pkg-config --variable=libdir pmix)/pmix
    test "$series" -lt 5 || export PMIX_MCA_mca_base_component_path
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=rbuf,self OMPI_MCA_osc=rdma
    export OMPI_MCA_btl_rbuf_report=1
    export SLURM_PMIX_FENCE=ring # without it no process waits for another node's in MPI_Init and MPI_Finalize
    # The nodes have the same processors, and each would bind its ranks from the first one on. Open MPI 4.1.4 does
    # not yield while it asks for a lock (MPI_Win_lock), so that two ranks on a core hardly get on.
    export SLURM_CPU_BIND=none OMPI_MCA_hwloc_base_binding_policy=none
    export OMPI_MCA_mpi_yield_when_idle=1 # there may be fewer processors than processes here
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# job NAME SECONDS COMMAND...: runs it on the emulated adapter, at most so long. Sets log (a path), status (hung: it
# had to be ended), ended (when) and took (seconds).
job() {
    local patience started
    patience=$(patience_for "$2")
    log=$(log_of "$1")
    status=0
    shift 2
    started=$(date +%s.%N)
    timeout -k 5 "$patience" "$softhca" --profile unpaced -- "$@" >"$log" 2>&1 </dev/null || status=$?
    ended=$(date +%s.%N)
    took=$(awk -v a="$started" -v b="$ended" 'BEGIN { printf "%.1f", b - a }')
    # mpirun of Open MPI 5 ends with the status of a rank, which is 137 as well if a signal has killed it.
    if awk "BEGIN { exit !($took >= $patience) }"; then
        status=hung
        scancel --user=root --signal=KILL && cluster_wait 30 >>"$log" 2>&1
    fi
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
    hung) echo "hangs: no end after $took s" ;;
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

# The job failed, by itself and soon.
wrong_failure() { # SECONDS
    case $status in
    0) echo "status 0, though it could not work" ;;
    hung) echo "hangs: no end after $took s" ;;
    *) ! awk "BEGIN { exit !($took > $1) }" || echo "ended only after $took s" ;;
    esac
}

# --- the tests ---

storm=("$mpi_tests/storm" 4 300001 2)

# What starts ranks: two on a node, one on each of two, two on each of two.
by_srun() {
    by=srun
    on_node=(srun --mpi=pmix -N1 -n2)
    on_two=(srun --mpi=pmix -N2 -n2)
    on_four=(srun --mpi=pmix -N2 -n4)
}

by_mpirun() {
    by=mpirun
    on_node=(salloc -N1 --ntasks-per-node=2 mpirun --bind-to none)
    on_two=(salloc -N2 --ntasks-per-node=1 mpirun --bind-to none)
    on_four=(salloc -N2 --ntasks-per-node=2 mpirun --bind-to none)
}

# True if srun starts ranks here. Otherwise counts these tests, which are of srun alone, as skipped.
with_pmix() { # NAME...
    local name
    test "$has_pmix" = no || return 0
    for name; do skip "$name" "$no_pmix"; done
    return 1
}

# The options of env that take Open MPI's parameters away. Those of 5.0 take all but the path from a file: PMIx
# reads the file, too.
without_parameters() {
    local name
    for name in ${!OMPI_MCA_*}; do
        test "$name" = OMPI_MCA_mca_base_component_path && test "$series" -ge 5 || echo "-u $name"
    done
}

with_data() {
    local HOME
    right "$by, a node" 2 1 "${on_node[@]}" "${storm[@]}"
    right "$by, two nodes" 2 2 "${on_two[@]}" "$mpi_tests/pingpong"
    right "$by, two ranks a node" 4 2 "${on_four[@]}" "${storm[@]}"
    right "$by, shared memory inside the nodes" 4 2 env OMPI_MCA_btl=rbuf,vader,self \
        "${on_four[@]}" "$mpi_tests/collectives"
    right "$by, one-sided" 2 2 "${on_two[@]}" "$mpi_tests/onesided"
    right "$by, one-sided, two ranks a node" 4 2 "${on_four[@]}" "$mpi_tests/epochs" created allocated
    right "$by, messages under way in MPI_Finalize" 2 2 "${on_two[@]}" "$mpi_tests/finalize"

    export HOME=$cluster/home
    mkdir -p "$HOME/.openmpi"
    env | sed -n 's/^OMPI_MCA_//p' >"$HOME/.openmpi/mca-params.conf"
    test "$series" -lt 5 || sed -i /^mca_base_component_path/d "$HOME/.openmpi/mca-params.conf"
    # shellcheck disable=SC2046 # names have no blanks
    right "$by, parameters in a file" 2 2 env $(without_parameters) "${on_two[@]}" "${storm[@]}"
}

with_each_protocol() {
    local protocol
    for protocol in superpipeline pipeline copy register rcache auto helper; do
        export OMPI_MCA_btl_rbuf_protocol=$protocol
        right "$by, $protocol" 2 2 "${on_two[@]}" "$mpi_tests/types"
        right "$by, $protocol, one-sided" 4 2 "${on_four[@]}" "$mpi_tests/onesided"
    done
    unset OMPI_MCA_btl_rbuf_protocol
}

# What the user sees without PMIx. Open MPI 4.1 ends soon, with a text of its own; from 5.0 on each process is a job
# of its own, and rbuf's report says so.
wrong_launch() {
    if test "$series" -lt 5; then
        wrong_failure 30
        grep -q "OMPI was not built with SLURM's PMI support" "$log" || echo "nothing is said of PMI"
    else
        test "$status" != hung || wrong_end
        test "$(grep -c '^rbuf-report: 1 process on 1 node, ' "$log")" -eq 2 || echo "not two jobs of a process each"
    fi
}

without_pmix() {
    local said="Open MPI's text" TMPDIR=$cluster/alone # where a job of one process leaves directories of Open MPI 5
    test "$series" -lt 5 || said="two jobs"
    mkdir -p "$TMPDIR"
    job "srun without --mpi" 60 srun -N1 -n2 "${storm[@]}"
    verdict "srun without --mpi" "$(wrong_launch)" "$said, after $took s"
    job "srun with pmi2" 60 srun --mpi=pmi2 -N1 -n2 "${storm[@]}"
    verdict "srun with pmi2" "$(wrong_launch)" "$said, after $took s"
}

# A rank is gone: the job ends within 10 s of that.
wrong_killed() {
    local since
    wrong_failure 60
    since=$(sed -n 's/.*victim: killed at \([0-9.]*\).*/\1/p' "$log" |
        awk -v now="$ended" 'NR == 1 { printf "%.1f", now - $1 }')
    if test -z "$since"; then
        echo "no rank went"
    elif awk "BEGIN { exit !($since > 10) }"; then
        echo "the job lived on for $since s"
    fi
}

with_deaths() {
    local place
    for place in "a node" "two nodes"; do
        local launch=("${on_node[@]}")
        test "$place" = "a node" || launch=("${on_two[@]}")
        job "$by, a rank is killed, $place" 60 "${launch[@]}" "$mpi_tests/victim"
        verdict "$by, a rank is killed, $place" "$(wrong_killed)" "$took s"
        job "$by, a rank exits, $place" 60 "${launch[@]}" "$mpi_tests/victim" exit
        verdict "$by, a rank exits, $place" "$(wrong_killed)" "$took s"
    done
}

# Runs the command and, two seconds after the job began, the other one with the job's number.
meanwhile() { # THEN COMMAND...
    local number
    "${@:2}" &
    until number=$(squeue --noheader --states=running --format=%i | grep .); do sleep 0.1; done
    sleep 2
    bash -c "$1" sh "$number"
    wait $!
}

wrong_cancelled() {
    wrong_failure 30
    test -z "$(pgrep -x steady)" || echo "a rank lives on"
}

with_interruptions() {
    local name="$by, scancel" steady=$RBUF_BUILD/tests/robust/steady
    export -f meanwhile
    # shellcheck disable=SC2016 # for the shell of meanwhile
    job "$name" 60 bash -c 'meanwhile "$@"' sh 'scancel "$1"' "${on_two[@]}" "$steady" 50
    verdict "$name" "$(wrong_cancelled)" "$took s"
    # shellcheck disable=SC2016
    right "$by, suspended and resumed" 2 2 bash -c 'meanwhile "$@"' sh \
        'scontrol suspend "$1" && sleep 3 && scontrol resume "$1"' "${on_two[@]}" "$steady" 4
}

# Submits a script and waits for its end. (sbatch --wait may ask half a minute later.)
submit() { # OUTPUT SCRIPT [ARGUMENT...]
    local number
    number=$(sbatch --parsable --output="$1" "${@:2}") || return
    while squeue --noheader --jobs="$number" 2>/dev/null | grep -q .; do sleep 0.2; done
    cat "$1"
    scontrol show job "$number" | grep -q JobState=COMPLETED
}

# A script for sbatch that runs so many jobs.
submitted() { # NAME JOBS COMMANDS
    local script=$cluster/job.sh output=$cluster/output
    printf '#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=2\n%s\n' "$3" >"$script"
    rm -f "$output"
    export -f submit
    # shellcheck disable=SC2016
    job "$1" 120 bash -c 'submit "$@"' sh "$output" "$script" "${storm[@]}"
    verdict "$1" "$(wrong_data 4 2 "$2")" "$took s"
}

in_allocations() {
    local name="two steps at once"
    # shellcheck disable=SC2046
    right "salloc, mpirun with the parameter set" 4 2 env $(without_parameters) \
        salloc -N2 --ntasks-per-node=2 mpirun --tune "$prefix/share/openmpi/amca-param-sets/rbuf.conf" \
        --bind-to none --mca btl_rbuf_report 1 --mca mpi_yield_when_idle 1 "${storm[@]}"

    if with_pmix "$name"; then
        # shellcheck disable=SC2016
        job "$name" 120 salloc -N2 --ntasks-per-node=2 bash -c \
            'srun --exact "$@" & srun --exact "$@" & wait' sh --mpi=pmix -N2 -n2 "${storm[@]}"
        verdict "$name" "$(wrong_data 2 2 2)" "$took s"
    fi
    submitted "sbatch, mpirun" 1 'mpirun "$@"'
    ! with_pmix "sbatch, srun and mpirun" || submitted "sbatch, srun and mpirun" 2 'srun --mpi=pmix "$@" && mpirun "$@"'

    name="rbuf-compare in an allocation"
    if ! command -v ibv_devinfo >/dev/null; then
        skip "$name" "ibv_devinfo is not installed"
        return
    fi
    job "$name" 120 salloc -N2 "$prefix/bin/rbuf-compare" --transports superpipeline --sizes 8 \
        --buffers reused --rounds 1 --no-probe --check
    verdict "$name" "$(wrong_end)$(grep -q '^fabric softhca0, on node1 and node2,' "$log" || echo "not on two nodes")" \
        "$took s"
}

# Slurm's fence as it is by default holds a process if TreeWidth, 16 or 50 by default, is not more than the nodes.
with_tree() {
    try "TreeWidth=2" cluster_reconfigure TreeWidth=2
    right "messages under way in MPI_Finalize, TreeWidth=2" 2 2 env -u SLURM_PMIX_FENCE \
        "${on_two[@]}" "$mpi_tests/finalize"
    try "TreeWidth as by default" cluster_reconfigure
}

# The shell that submits has a limit on locked memory of 1 MB. slurmd has this machine's, which may be 8 MB: enough
# for few receive buffers (docs/launchers.md).
with_limit() { # COMMAND...
    export OMPI_MCA_btl_rbuf_control_buffers=64 OMPI_MCA_btl_rbuf_bulk_buffers=8
    prlimit --memlock=1048576: "$@"
}

wrong_limit() {
    wrong_failure 30
    grep -q '^The rbuf transport could not pin memory for' "$log" || echo "nothing is said of pinning"
    grep -q 'RLIMIT_MEMLOCK is 1048576 bytes' "$log" || echo "the limit is not named"
    grep -q 'PropagateResourceLimitsExcept=MEMLOCK' "$log" || echo "Slurm's remedy is not named"
}

with_limits() {
    local name="memlock, $by, the limit of the shell that submits" limited=("$here/limited.sh" "${storm[@]}")
    if ! setpriv --bounding-set -ipc_lock true 2>/dev/null; then
        skip "memlock, $by" "setpriv may not take rights away here"
        return
    elif test "$(ulimit -H -l)" != unlimited && test "$(ulimit -H -l)" -lt 8192; then
        skip "memlock, $by" "the limit here is $(ulimit -H -l) KB"
        return
    fi
    export -f with_limit
    # shellcheck disable=SC2016
    local shell=(bash -c 'with_limit "$@"' sh)
    job "$name" 60 "${shell[@]}" "${on_two[@]}" "${limited[@]}"
    verdict "$name" "$(wrong_limit)" "rbuf's text, after $took s"
    test "$by" != srun ||
        right "memlock, srun --propagate=NONE" 2 2 "${shell[@]}" "${on_two[@]}" --propagate=NONE "${limited[@]}"
    try "$by, PropagateResourceLimitsExcept=MEMLOCK" cluster_reconfigure PropagateResourceLimitsExcept=MEMLOCK
    right "memlock, $by, PropagateResourceLimitsExcept" 2 2 "${shell[@]}" "${on_two[@]}" "${limited[@]}"
    try "$by, PropagateResourceLimits as by default" cluster_reconfigure
}

# What is unusual about where the ranks run, as a job's report has it.
wrong_shares() { # PROCESSES NODES [SHARE]
    wrong_data "$1" "$2"
    if test $# -lt 3; then
        grep -m 1 'processes share' "$log"
    else
        grep -q "^rbuf-report: unusual: $3: bind each to a core of its own (.* srun --cpu-bind=cores)" "$log" ||
            echo "not said: $(grep -m 1 'report: unusual' "$log")"
    fi
}

bound() { # NAME SHARE PROCESSES NODES COMMAND...
    job "$1" 60 "${@:5}"
    verdict "$1" "$(wrong_shares "$3" "$4" ${2:+"$2"})" "$took s"
}

with_bindings() {
    bound "two ranks on a core" "2 processes share 1 processor on node1" 2 1 \
        "${on_node[@]}" --cpu-bind=map_cpu:0,0 "${storm[@]}"
    bound "srun --overcommit" "4 processes share 1 processor on node1" 4 1 \
        env -u SLURM_CPU_BIND srun --mpi=pmix -N1 -n4 --overcommit "${storm[@]}"
    bound "the same core of two nodes" "" 2 2 "${on_two[@]}" --cpu-bind=map_cpu:0 "${storm[@]}"
    if test "$(nproc)" -ge 2; then
        bound "srun --cpu-bind=cores" "" 2 1 "${on_node[@]}" --cpu-bind=cores "${storm[@]}"
        bound "srun --cpu-bind=none" "" 2 1 "${on_node[@]}" --cpu-bind=none "${storm[@]}"
    fi
}

nothing_left() {
    for _ in {1..50}; do
        test -n "$(cluster_left)" || return 0
        sleep 0.2
    done
    cluster_left
    return 1
}

test "${RBUF_SLURM_INSIDE-}" = yes || enter "${arguments[@]}"
trap 'exit 143' INT TERM
cluster_ground >"$(log_of ground)" 2>&1 || skip_all "no ground for it: $(tail -n 1 "$(log_of ground)")"
environment
try "configuration" cluster_configure
if ! try "munged" cluster_munge || ! try "slurmctld and two slurmd" cluster_start; then
    tally
    exit 1
fi
srun --version
no_pmix="Slurm $(srun --version | sed 's/.* //') has no plugin for PMIx here"
has_pmix=no
by_mpirun
if cluster_has_pmix; then
    has_pmix=yes
    by_srun
fi
with_pmix "jobs by srun, instead of mpirun"
with_data
test "$long" = no || with_each_protocol
without_pmix
with_deaths
with_interruptions
in_allocations
with_limits
if with_pmix "messages under way in MPI_Finalize, TreeWidth=2"; then
    with_tree
    by_mpirun
    with_limits
    by_srun
fi
! with_pmix "srun, cpu bindings" || with_bindings
try "jobs leave nothing behind" nothing_left
tally
