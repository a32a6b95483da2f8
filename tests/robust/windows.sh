#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Windows that cannot be made. Whatever is refused while one is made, each call of verbs and adapters
# without atomic operations: the job ends soon, with right data in the windows that there are, and where
# there is one less a text of ours says why. What the texts name as a remedy is one.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
most=30 # uses of a call, of which windows make the last; those before are tried in calls.sh, too

# What is wrong with a job in which windows may have been refused.
wrong_windows() {
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif grep -m 1 '^wrong' "$log"; then
        :
    elif { [ "$status" != 0 ] || grep -q '^refused: [1-9]' "$log"; } && ! grep -q -E "^($headlines)" "$log"; then
        echo "status $status, $(grep -c '^refused: [1-9]' "$log") ranks without a window, and no message of the transport"
    elif [ "$status" = 0 ] && ! was_checked; then
        echo "no data was checked"
    fi
}

job_of_window() { # NAME FAULT
    hca=(--verbose --fault "$2")
    job "$1" $((patience + 20)) 2 "$robust_tests/windows" kinds
    wrong=$(wrong_windows)
}
check_window() { # FAULT
    local name="windows: $1" wrong
    until_told job_of_window "$name" "$1"
    verdict "$name" "$wrong" "$(grep -c '^refused: [1-9]' "$log") ranks without a window, status $status"
}

# From so many uses of a call on, until a job does not meet the fault any more: each fails, and all from it on.
sweep() { # VERB FIRST STEP
    local n=$2
    while [ $n -le $most ]; do
        check_window "call=$1:$n+"
        grep -q '\]: fault: ' "$log" || break
        test "$3" -gt 1 || check_window "call=$1:$n"
        n=$((n + $3))
    done
    test $n -gt "$2" || fail "windows: $1 $2" "is not called so often"
}

# --- calls ---

aside sweep reg_mr 10 1
step=7
[ "$robust_all" = no ] || step=1
for verb in create_qp modify_qp post_send; do
    aside sweep $verb 1 $step
done
together

# --- adapters without atomics ---

# Both texts come from more than one process at once, and what mpirun loses is asked for again.
job_without_atomics() { # NAME TEXT
    job "$1" 60 2 "$robust_tests/windows" none
    wrong=$(wrong_success)
    [ -n "$wrong" ] || grep -q "$2" "$log" || wrong="no message: $2"
    [ -n "$wrong" ] || grep -q -E '^  Remedy: +.*osc/pt2pt' "$log" || wrong="the remedy is not named"
}
without_atomics() { # MODEL OSC TEXT
    local name="windows: like $1, osc $2" wrong
    hca=(--like "$1")
    osc=$2
    until_told job_without_atomics "$name" "$3"
    osc=rdma
    verdict "$name" "$wrong"
}
if [[ $("$mpirun" --version) == *" 4."* ]]; then
    without_atomics bnxt_re rdma '^One-sided component osc/rdma was chosen'
    without_atomics bnxt_re rdma,rbuf '^No one-sided component of Open MPI can make a window'
    without_atomics irdma '^ucx,pt2pt' '^No one-sided component of Open MPI can make a window'
    for model in bnxt_re irdma; do
        name="windows: like $model, by osc/pt2pt"
        hca=(--like "$model")
        mpi=(--mca btl_rbuf_protocol rcache)
        osc=pt2pt
        job "$name" 60 2 "$robust_tests/windows" kinds
        osc=rdma
        mpi=()
        wrong=$(wrong_success)
        [ -n "$wrong" ] || [ "$(lines_with '^refused: 0')" = 2 ] || wrong="a window was refused"
        [ -n "$wrong" ] || was_checked || wrong="no data was checked"
        verdict "$name" "$wrong"
    done
else
    skip "windows: adapters without atomics" "Open MPI 5 does their operations itself"
fi
tally
