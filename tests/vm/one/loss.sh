#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A cable that loses and reorders packets: the data are right all the same, and the devices say that they
# had to send again.

. "$(dirname "$0")/../common.sh"

# What a device counts when a packet is missing, late or there twice.
trouble()
{
    local device sum=0
    for device in rxe1 rxe2; do
        sum=$((sum + $(device_counters $device duplicate_request out_of_seq_request rcvd_seq_err \
            completer_retry_err)))
    done
    echo $sum
}

# Runs a check, which must have met trouble.
troubled() # NAME COMMAND...
{
    local before name="$vm_test: $1"
    before=$(trouble)
    shift
    TALLY_TIMEOUT=300 try "$name" "$@" || return
    if [ "$(trouble)" -gt "$before" ]; then
        pass "$name: the devices sent again" "$(($(trouble) - before)) times"
    else
        fail "$name: the devices sent again" "their counters stand still"
    fi
}

impair() # NETEM-ARGUMENT...
{
    tc qdisc replace dev left root netem limit 10000 "$@" &&
        tc qdisc replace dev right root netem limit 10000 "$@"
}

# Soft-RoCE counts each loss within a request as a retry: a long write may meet more than the default allows.
patient=(--mca btl_rbuf_retry_count 7)

cable || exit
writes=12
[ "$vm_all" = yes ] || writes=6
impair loss 1% || exit
troubled "loss of 1 %, flags and payloads" "$vm_programs/flags" -e $order -w $writes rxe1 rxe2
for protocol in superpipeline rcache; do
    mpi=(--mca btl_rbuf_protocol "$protocol" "${patient[@]}" --mca btl_base_verbose 10)
    mpi_job 2 "$here/by_rank.sh" "$mpi_tests/pingpong" brief
    troubled "loss of 1 %, $protocol" "${mpi_command[@]}"
done
impair delay 300us reorder 80% 50% loss 1% || exit
troubled "reordering and loss, flags and payloads" "$vm_programs/flags" -e $order -w $writes rxe1 rxe2
mpi=("${patient[@]}" --mca btl_base_verbose 10)
programs=("pingpong brief")
[ "$vm_all" = no ] || programs+=(order types)
for program in "${programs[@]}"; do
    # shellcheck disable=SC2086 # the program is words
    mpi_job 2 "$here/by_rank.sh" "$mpi_tests/"$program
    troubled "reordering and loss, $program" "${mpi_command[@]}"
done
no_device
