#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Too little memory that may be pinned. At start: the job runs with smaller staging, or ends with a
# message that says which limit, how much was wanted and what to do. Later, when user memory has
# taken what was left: what cannot be registered is copied, and the data is right.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

# What is wrong with a message of memory that could not be pinned.
wrong_text() { # FOR-WHAT
    if [ "$(lines_with '^The rbuf transport could not pin memory')" != 1 ]; then
        echo "not said once"
    elif ! grep -q "^The rbuf transport could not pin memory $1" "$log"; then
        echo "what it was for is not said: $1"
    elif ! grep -q -E '^  Wanted: +[0-9]+ bytes' "$log"; then
        echo "what was wanted is not said"
    elif ! grep -q -E '^  Limits: +RLIMIT_MEMLOCK is (unlimited|[0-9]+ bytes), wanted' "$log"; then
        echo "which limit is not said"
    elif ! grep -q -E '^  Remedy: +[^ ]' "$log"; then
        echo "what to do is not said"
    fi
}

# The same of a job that could not start.
wrong_message() {
    wrong_failure 30 | grep . && return
    wrong_text "for"
}

more=() # further options of mpirun

growing_job() { # NAME EXPECT
    job "$1" 60 2 "$robust_tests/growing" 2
    case $2 in
    works) wrong=$(wrong_success) ;;
    refused) wrong=$(wrong_message) ;;
    *)
        if [ "$status" = 0 ]; then wrong=$(wrong_success); else wrong=$(wrong_message); fi
        ;;
    esac
}

# at LIMIT PROTOCOL EXPECT [WHICH]: a job that may pin LIMIT; EXPECT is works, refused or either.
at() {
    local name="memlock $1 $2${4:+, $4}" wrong
    hca=(--memlock "$1")
    mpi=(--mca btl_rbuf_protocol "$2" --mca btl_rbuf_report 2 "${more[@]}")
    test "$2" != auto || mpi+=("${auto_args[@]}")
    until_told growing_job "$name" "$3"
    if [ "$status" = 0 ]; then
        verdict "$name" "$wrong" "works"
    else
        verdict "$name" "$wrong" "ends with the message"
    fi
}

# The most that a rank of the last job had pinned, bytes.
pinned_peak() {
    sed -n 's/^rbuf-report:.* pinned_peak=\([0-9]*\).*/\1/p' "$log" | sort -n | tail -n 1
}

# A kernel limit is known to the component beforehand, which makes do with less staging.
at_kernel_limit() { # MIB EXPECT
    local bytes=$(($1 << 20)) peak
    wrap=(prlimit "--memlock=$bytes" setpriv --bounding-set -ipc_lock)
    at "${1}M" superpipeline "$2"
    if [ "$2" = works ]; then
        peak=$(pinned_peak)
        if [ "${peak:-0}" -gt 0 ] && [ "$peak" -le "$bytes" ]; then
            pass "memlock ${1}M: smaller staging" "$peak bytes pinned"
        else
            fail "memlock ${1}M: smaller staging" "${peak:-no} bytes pinned"
        fi
    elif ! grep -q "RLIMIT_MEMLOCK is $bytes bytes" "$log"; then
        fail "memlock ${1}M: the limit is named" "it is not"
    fi
    wrap=()
}

for limit in 64k 8M 10M; do
    at $limit superpipeline refused
done
at 12M superpipeline works
at 60M copy refused
if [ "$robust_all" = yes ]; then
    for limit in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 16 20 24 32 39; do
        for protocol in superpipeline pipeline register rcache auto; do
            at ${limit}M $protocol either
        done
    done
fi

# In the middle of the run. What 13M leave is not enough for one window of messages.
for protocol in register rcache; do
    for limit in 13M 16M 36M; do
        at $limit $protocol works
        grep -q 'direct_puts=[1-9]' "$log" || fail "memlock $limit $protocol: registers what it can"
    done
done
at 13M auto works
more=(--mca btl_rbuf_allow_cache off)
at 13M auto works "no cache"
more=()

# Memory of the program: neither staging nor receive buffers are named as a remedy.
window_job() { # NAME PROTOCOL FOR-WHAT PROGRAM-ARGUMENT...
    mpi=(--mca btl_rbuf_protocol "$2")
    job "$1" 60 2 "$robust_tests/windows" "${@:4}"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(wrong_text "$3")
    [ -n "$wrong" ] || ! grep -q -E 'staging_start|control_buffers|smaller staging' "$log" ||
        wrong="a remedy is named that does not help"
}
window() { # NAME PROTOCOL FOR-WHAT PROGRAM-ARGUMENT...
    until_told window_job "$@"
    verdict "$1" "$wrong"
}
hca=(--memlock 40M)
for protocol in superpipeline rcache; do
    window "memlock of a window, $protocol" $protocol "that the program gives for one-sided" 100M
done
hca=()

# A message that waits for the memory of another one when the process finalizes. Its peer is deleted first, and where
# nobody waited for it, it began on what was freed.
finalizing() { # NAME BANDWIDTH LINGER JUDGE [ARGUMENT...]
    local name="memlock at the end, $1" linger=$3 wrong
    hca=(--memlock 24M --bandwidth "$2")
    mpi=(--mca btl_rbuf_protocol register --mca btl_rbuf_report 2)
    preload finalizing.c "LINGER=$linger"
    export MALLOC_PERTURB_=165
    job "$name" 60 3 "$robust_tests/pending" 4194304 1
    unset MALLOC_PERTURB_
    wrap=()
    hca=()
    wrong=$("${@:4}")
    verdict "$name" "$wrong" "$took s"
}
both_put() {
    wrong_success | grep . || grep -q 'direct_puts=2 ' "$log" || echo "not both were put"
}
finalizing "it arrives" 3M 5 both_put
finalizing "it is given up" 300k 30 wrong_failure 40

# Where the adapter's limit is the same, it sees to it. 8 MB is what systems give by default.
if prlimit --memlock=8388608 setpriv --bounding-set -ipc_lock true 2>/dev/null; then
    at_kernel_limit 4 refused
    more=(--mca btl_rbuf_control_buffers 64 --mca btl_rbuf_bulk_buffers 8)
    at_kernel_limit 8 works
else
    skip "memlock of the kernel" "needs prlimit and setpriv, and to be root"
fi
tally
