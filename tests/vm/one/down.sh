#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# An interface goes down: both sides end within 10 seconds, with an error that names the peer and the cause.
# A peer that only computes is left in peace.

. "$(dirname "$0")/../common.sh"
. "$here/cut.sh"

cable || exit
mpi=()
try_mpi "a peer that computes is left in peace" 400 2 "$here/by_rank.sh" "$vm_programs/link" compute 12
no_device
new_cable()
{
    no_device
    cable
}

mpi=(--enable-recovery --mca btl_base_verbose 10)
new_cable || exit
for end in left right; do
    for mode in transfer wait; do
        cut "$mode, $end goes down" "ip link set $end down" new_cable "$here/by_rank.sh" \
            "$vm_programs/link" $mode
    done
done
no_device
