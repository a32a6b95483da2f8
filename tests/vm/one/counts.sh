#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Requests, completions and registrations of a message are those that the protocol says, in rbuf's own
# counters and in the device's; with eager rings where there are any, and with send/receive alone.

. "$(dirname "$0")/../common.sh"

# What is counted is that of flags which are believed: rbuf believes them of no kernel's Soft-RoCE unless it is told to.
# With checksums acknowledgements wait for each other's completions, which count too: where the kernel keeps no order the
# protocols that copy are left out.
blocks=no
subblock=()
if writes_are_ordered; then
    blocks=yes
    subblock=(--mca btl_rbuf_subblock on)
fi

report_sum() { # COUNTER LOG: over all ranks
    sed -n "s/.*rbuf-report:.* $1=\([0-9]*\).*/\1/p" "$2" | awk '{ sum += $1 } END { print sum + 0 }'
}

# All ranks use this one device, and nobody else does. Who takes a peer into its polling set sends it an
# offer, which is no user's message; what goes by a ring is a write and no send.
device_agrees() # NAME LOG SENDS RECEIVES
{
    local sent received
    sent=$(($(report_sum messages_sent "$2") + $(report_sum ring_admitted "$2") - $(report_sum ring_sent "$2")))
    received=$(($(report_sum messages_received "$2") + $(report_sum ring_opened "$2") -
        $(report_sum ring_received "$2")))
    if [ "$sent" -gt 0 ] && [ "$3" = "$sent" ] && [ "$4" = "$received" ]; then
        pass "$1" "$sent sends, $received receives"
    else
        fail "$1" "the device counts $3 sends and $4 receives, rbuf $sent and $received"
    fi
}

counted() # PROTOCOL rings|sends
{
    local sends receives name="$1, $2"
    sends=$(device_counters rxe0 rdma_sends)
    receives=$(device_counters rxe0 rdma_recvs)
    # The schedule without an opening, and no messages about lanes.
    mpi=(--mca btl_rbuf_protocol "$1" --mca btl_rbuf_report 2 --mca btl_rbuf_early_peers 0 "${subblock[@]}")
    [ "$2" = rings ] || mpi+=(--mca btl_rbuf_polling_set 0)
    try_mpi "$name" 300 2 "$vm_programs/counts" "$1" "$2" || return
    device_agrees "$vm_test: $name, the device" "$(log_of "$vm_test: $name")" \
        $(($(device_counters rxe0 rdma_sends) - sends)) $(($(device_counters rxe0 rdma_recvs) - receives))
}

one_device || exit
# What a protocol does with large messages does not depend on the way of small ones.
if [ $blocks = yes ]; then
    for protocol in $some_protocols; do
        counted "$protocol" rings
    done
    by_sends=superpipeline
    [ "$vm_all" = no ] || by_sends=$protocols
else
    by_sends="register rcache"
fi
for protocol in $by_sends; do
    counted "$protocol" sends
done
no_device
