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

# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"

# Ends a script that is about a feature which this build leaves out.
needs() { # FEATURE
    if transport_left_out "$1"; then
        skip "${0##*/}" "this build of rbuf leaves $1 out"
        tally
        exit
    fi
}

hca=()  # options of the emulated adapter for the next jobs
mpi=()  # options of mpirun for the next jobs
wrap=() # what stands between mpirun and the program
btls=rbuf,self
osc=rdma
# Protocol auto is told that registrations cost nothing, until it knows better: so that in a short job it
# makes some, copies, and writes from staging.
auto_args=(--mca btl_rbuf_registration_time 0 --mca btl_rbuf_registration_page_time 0)
patience=20 # seconds until a job that cannot go on must have ended; see calibrate()

# job NAME LIMIT RANKS PROGRAM [ARGUMENT...]: runs it, at most LIMIT seconds. Sets log (a path),
# status (124: it had to be ended) and took (seconds).
job() {
    local name=$1 limit ranks=$3 started session
    limit=$(patience_for "$2")
    shift 3
    log=$(log_of "$name")
    status=0
    started=$(date +%s.%N)
    # Open MPI's own files: two jobs that begin at once would trip over a common directory.
    session=$(mktemp -d)
    TMPDIR=$session timeout -k 5 "$limit" "$softhca" --profile unpaced "${hca[@]}" -- "$mpirun" -np "$ranks" \
        --oversubscribe --bind-to none --mca pml ob1 --mca btl "$btls" --mca osc "$osc" \
        --mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR" \
        --mca mpi_warn_on_fork 0 "${mpi[@]}" "${wrap[@]}" "$@" >"$log" 2>&1 </dev/null ||
        status=$?
    rm -rf "$session"
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
    elif awk "BEGIN { exit !($took > $(patience_for "$1")) }"; then
        echo "ended only after $took s"
    fi
}

# preload SOURCE VARIABLE=VALUE: the next jobs' programs have that of the sources here preloaded, and the
# variable set.
preload() {
    local object=$TALLY_LOGS/${1%.c}.so
    ${CC:-cc} -shared -fPIC -o "$object" "$here/$1" -ldl || exit 1
    # shellcheck disable=SC2016 # expanded by that shell
    wrap=(sh -c 'exec env "LD_PRELOAD=$0:$LD_PRELOAD" "$@"' "$object" "$2")
}

# Memory changes and nobody hears of it: the adapter sees it. The first to ask for hooks is their trial,
# which succeeds.
without_hooks() { # NAME [ARGUMENT...]: of remap
    local wrong="no stale registration was found: the test could not fail"
    preload deaf.c DEAF=1
    job "$1" 60 2 "$mpi_tests/remap" "${@:2}"
    ! grep -q 'stale registration: key' "$log" || wrong=
    verdict "$1" "$wrong"
}

# Nor is the trial heard of: it goes right, and is said with this text; COMMAND says what else is wrong.
job_of_blind() { # NAME TEXT COMMAND [ARGUMENT...]
    job "$1" 60 2 "$mpi_tests/remap"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$("${@:3}")
    [ -n "$wrong" ] || grep -q "$2" "$log" || wrong="not said"
}
blind_hooks() { # as that
    local wrong
    preload deaf.c DEAF=0
    until_told job_of_blind "$@"
    verdict "$1" "$wrong"
}

# faulty NAME FAULT LIMIT PROTOCOL BYTES ROUNDS: a job of checked traffic on an adapter with faults. The
# ranks are left to themselves, each says for itself what it has lost.
prepare_faulty() { # NAME: for others to say what stands between
    :
}
faulty() {
    local of=("${mpi[@]}") on=("${hca[@]}")
    fault_of_job=$2
    prepare_faulty "$1"
    stats=$(log_of "$1 stats")
    rm -f "$stats"
    hca+=(--verbose --stats "$stats" --fault "$2")
    mpi+=(--enable-recovery --mca orte_base_help_aggregate 0 --mca btl_rbuf_protocol "$4")
    job "$1" "$3" "${ranks:-2}" "$robust_tests/faulted" "$5" "$6"
    mpi=("${of[@]}")
    hca=("${on[@]}")
}

# Gives jobs on a busy machine what one without a fault takes there, thrice.
calibrate() {
    faulty "without a fault" seed=1 120 superpipeline 1000000 10
    patience=$(awk -v least="$patience" -v took="$took" 'BEGIN { printf "%d", least + 3 * took }')
    verdict "without a fault" "$(wrong_right)" "$took s, so $patience s for those with one"
}

# The following judge the last faulty job.

wrong_left() { # what it left behind, though it ended well: pinned memory, open files
    local left
    if [ "$(grep -c '"registered_bytes": 0,' "$stats")" != "${ranks:-2}" ]; then
        echo "memory is left registered"
    fi
    # The emulated adapter keeps its fabric and its watch of mappings, Open MPI its segment.
    left=$(sed -n 's/^open: //p' "$log" | grep -v -E ': (/dev/shm/.*|anon_inode:\[userfaultfd\])$' |
        sort | uniq -c | awk '!($1 == 1 && /anon_inode:\[eventfd\]$/)')
    test -z "$left" || echo "files are left open: $left"
}

was_checked() { # the job came to its end; mpirun's status says nothing of ranks left to themselves
    grep -q -E '^[1-9][0-9]* checks, 0 wrong$' "$log"
}

wrong_right() { # the data is right and nothing is left behind
    wrong_success | grep . && return
    if ! was_checked; then
        echo "no data was checked"
    elif grep -m 1 'stale registration' "$log"; then
        :
    else
        wrong_left
    fi
}

# The ranks named end with an error that says which peer they lost.
wrong_errors() { # SECONDS RANK-OF-PEER...
    local limit=$1 rank
    shift
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif was_checked; then
        echo "ended well, though it could not work"
    elif awk "BEGIN { exit !($took > $(patience_for "$limit")) }"; then
        echo "ended only after $took s"
    elif grep -m 1 '^wrong' "$log"; then
        :
    else
        for rank in "$@"; do
            # mpirun may lose help texts that two ranks ask for at once; ob1 prints what we tell it.
            grep -q -E "(^  Peer: +| lost peer )\[\[[0-9]+,1\],$rank\]" "$log" ||
                echo "nobody says that rank $rank is lost"
        done
    fi
}

# OUTCOME is one of those in faults.table.
no_fault="the fault did not happen"
wrong_outcome() { # OUTCOME
    local cause
    if ! grep -q -E '\]: (fault: |completion queue of .* overrun)' "$log" &&
        ! [[ $fault_of_job =~ ^(order|late|slow)= ]]; then
        echo "$no_fault"
        return
    fi
    case $1 in
    right) wrong_right ;;
    kept) wrong_success ;;
    gone) wrong_errors "$patience" 1 ;;
    lost:*)
        wrong_errors "$patience" 0 1 | grep . && return
        case $1 in
        *:retries) cause='does not answer \(retries exhausted\)' ;;
        *:link) cause='(does not answer \(retries exhausted\)|the port of this process is down)' ;;
        *:rnr) cause='posts no receive buffers' ;;
        *:adapter) cause='the adapter of this process has failed' ;;
        *:queue) cause='no queue pair could be made' ;;
        *:post) cause='the connection was reset' ;;
        esac
        grep -q -E "^  Cause: +.*$cause" "$log" || echo "the cause is not named: $cause"
        ;;
    esac
}

wrong_handled() { # it went on, or ended with an error and messages that name things
    if was_checked; then
        wrong_right
        return
    fi
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif grep -m 1 '^wrong' "$log"; then
        :
    elif ! grep -q -E "^($headlines)" "$log"; then
        echo "status $status, and no message of the transport"
    fi
}
headlines='The rbuf transport |The GID index|An RDMA device failed|A port cannot|Two ports cannot|A peer runs'

how_it_ended() {
    if was_checked; then
        echo "right, $took s"
    else
        echo "$(grep -m 1 -E "^($headlines)" "$log" | sed 's/[.:,].*//'), $took s"
    fi
}

# aside COMMAND...: in a shell of its own, beside others, as many as there are processors and one.
# together: waits for all, shows what they said in their order and counts it.
asides=0
aside() {
    local file
    asides=$((asides + 1))
    file=$TALLY_LOGS/aside.$$.$(printf %03d $asides)
    ("$@") >"$file" 2>&1 </dev/null &
    while [ "$(jobs -rp | wc -l)" -gt "$(nproc)" ]; do
        wait -n
    done
}

together() {
    local file
    wait
    for file in "$TALLY_LOGS/aside.$$".[0-9]*; do
        test -f "$file" || continue
        cat "$file"
        grep -q -E '^(PASS|FAIL|SKIP)' "$file" || fail "a check" "ended without a verdict: $(tail -n 1 "$file")"
        passed=$((passed + $(grep -c '^PASS' "$file")))
        failed=$((failed + $(grep -c '^FAIL' "$file")))
        skipped=$((skipped + $(grep -c '^SKIP' "$file")))
        rm -f "$file"
    done
}

# Counts a check of what other jobs' logs say: it passed if WRONG is empty.
verdict_on_others() { # NAME WRONG [REMARK]
    if [ -z "$2" ]; then
        pass "$1" "${3-}"
        return
    fi
    fail "$1" "$2"
    return 1
}

# The same of a job that has the check's name.
verdict() { # NAME WRONG [REMARK]
    if [ ! -f "$(log_of "$1")" ]; then
        fail "$1" "no job was run"
        return 1
    fi
    verdict_on_others "$@" && return
    show_log "$1" 30
    return 1
}

# The number of lines of the last job's output that match.
lines_with() { # REGEX
    grep -c -E -e "$1" "$log"
}
