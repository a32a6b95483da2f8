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

# The interface goes up again; the address of a network card survives that. What is to kill a stopped rank must
# not find one of the next job, if this one ended before.
mend() # NODE
{
    if [ -n "$killer" ]; then
        kill "$killer" 2>/dev/null
        wait "$killer" 2>/dev/null
        killer=
    fi
    on "$1" busybox killall -KILL link 2>/dev/null
    on "$1" ip link set eth1 up
    await busybox ping -c 1 -W 1 10.78.0.2
}

mpi=()
killer=
try_mpi "a peer that computes is left in peace" 400 2 "$vm_programs/link" compute \
    "$([ "$vm_all" = yes ] && echo 65 || echo 12)"
# Cuts the link of guest END. With "alone" rank END - 1 is stopped at that moment, so that the other has
# nothing but its own adapter to learn it from; it is killed when that has had its time, since mpirun does
# not end what is stopped.
take_down() # END [alone]
{
    [ "${2-}" != alone ] || on "$1" busybox killall -STOP link
    on "$1" ip link set eth1 down
    if [ "${2-}" = alone ]; then
        { sleep $((cut_limit + 1)) && on "$1" busybox killall -KILL link; } >/dev/null 2>&1 &
        killer=$!
    fi
}

cases=("transfer 1" "wait 2" "wait 1 alone" "transfer 2 alone")
[ "$vm_all" = no ] || cases+=("wait 1" "transfer 1 alone")
mpi=(--enable-recovery --mca btl_base_verbose 10)
for case in "${cases[@]}"; do
    read -r mode end alone <<<"$case"
    lost="0 1"
    [ -z "$alone" ] || lost=$((end - 1))
    cut "$mode, the interface of rank $((end - 1)) goes down${alone:+, the other is $alone}" \
        "take_down $end $alone" "mend $end" "$vm_programs/link" "$mode"
done
