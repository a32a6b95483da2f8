#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Every call of verbs that the component makes fails, at its first use, its second and so on until a
# whole job passes without meeting the fault; then at every use from there on. However it falls, the
# job ends soon: with right data and nothing left behind, or with a message of the transport's and
# an error. Quick, the counts are sampled; --all takes them all at one rank alone, and samples at both.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
most=40 # of a call that is made again and again, as many uses are tried

# calls that are made while the transport opens or connects, and those that it works with
set_up="get_device_list open_device query_device query_port query_gid alloc_pd create_cq create_qp
    create_srq modify_qp post_srq_recv"
work="reg_mr post_send poll_cq" # and dereg_mr, whose failures are in faults.table

# and those of an adapter without shared receive queues, whose queue pairs have their own
own="create_cq create_qp modify_qp post_recv reg_mr"

like= # the adapter that the next checks are on, if not the usual one

call_name() { # as check_call()
    echo "$1 fails at $2, $3${4:+, $4}${like:+, like $like}"
}

job_of_call() { # NAME, then as check_call()
    hca=()
    test -z "$like" || hca=(--like "$like")
    faulty "$1" "call=$2:$3${5:+,only=$5}" $((patience + 20)) "$4" 1000000 4
    wrong=$(wrong_handled)
}

# One check, in a shell of its own: verb, which of its calls, protocol, where.
check_call() { # VERB WHICH PROTOCOL EXTRA
    local name wrong
    name=$(call_name "$@")
    mpi=()
    test "$3" != auto || mpi=("${auto_args[@]}")
    until_told job_of_call "$name" "$@"
    verdict "$name" "$wrong" "$(how_it_ended)"
}

# Whether the log of a check shows that the fault was met.
was_met() { # VERB WHICH PROTOCOL EXTRA
    grep -q '\]: fault: ' "$(log_of "$(call_name "$@")")"
}

sweep() { # VERB PROTOCOL EXTRA STEP
    local n=1
    while [ $n -le $most ]; do
        check_call "$1" $n "$2" "$3"
        was_met "$1" $n "$2" "$3" || break
        [ "$4" -gt 1 ] || check_call "$1" "$n+" "$2" "$3"
        n=$((n < 4 ? n + 1 : n + $4))
    done
    [ $n -gt 1 ] || fail "$1, $2${like:+, like $like}" "is never called"
}

calibrate
if [ "$robust_all" = yes ]; then
    for verb in $set_up $work; do
        aside sweep $verb superpipeline OMPI_COMM_WORLD_RANK:1 1
        aside sweep $verb superpipeline '' 4
    done
    for verb in $work; do
        for protocol in pipeline copy register rcache auto; do
            aside sweep $verb $protocol '' 5
        done
    done
    like=irdma
    for verb in $own; do
        aside sweep $verb superpipeline '' 1
    done
else
    for verb in $set_up; do
        aside sweep $verb superpipeline '' 12
    done
    for verb in $work; do
        aside sweep $verb register OMPI_COMM_WORLD_RANK:1 13
        aside check_call $verb 12+ superpipeline ''
    done
    for which in 12 13 14 15+; do # up to 11 they are those of the set-up
        aside check_call reg_mr $which auto ''
    done
    like=irdma
    for verb in $own; do
        aside sweep $verb superpipeline '' 4
    done
fi
together
tally
