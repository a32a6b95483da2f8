#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The network between two hosts ends, while mpirun's own goes on: both sides say so within 10 seconds, also
# the one whose interface is up and which only waits.

. "$(dirname "$0")/../common.sh"
. "$here/cut.sh"

on() # NODE COMMAND...
{
    if [ "$1" = "$node" ]; then
        "${@:2}"
    else
        "$here/on.sh" "vm$1" "${@:2}"
    fi
}

# The interface goes up again; the address of a network card survives that.
mend() # NODE
{
    on "$1" ip link set eth1 up
    await busybox ping -c 1 -W 1 10.78.0.2
}

mpi=()
try_mpi "a peer that computes is left in peace" 400 2 "$vm_programs/link" compute \
    "$([ "$vm_all" = yes ] && echo 65 || echo 12)"
# Rank 1 or 0 learns of the other's end over TCP where that goes on, and by its own adapter alone where TCP
# goes the same way as RDMA.
ways=(eth1)
[ "$vm_all" = no ] || ways+=(eth0)
for way in "${ways[@]}"; do
    mpi=(--enable-recovery --mca btl_base_verbose 10 --mca btl_rbuf_listen_if "$way")
    for end in 1 2; do
        for mode in transfer wait; do
            cut "$mode, the interface of rank $((end - 1)) goes down, TCP over $way" \
                "on $end ip link set eth1 down" "mend $end" "$vm_programs/link" "$mode"
        done
    done
done
