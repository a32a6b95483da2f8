#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The GID that is used is the routable one, IPv4 first, whatever its place in the table; the user's word
# overrides it.

. "$(dirname "$0")/../common.sh"

gid_at() { # INDEX
    cat "/sys/class/infiniband/rxe0/ports/1/gids/$1"
}

has_gid() { # PATTERN
    grep -q "$1" /sys/class/infiniband/rxe0/ports/1/gids/*
}

# Two ranks exchange messages, both say which entry they use, and that holds what it should.
chosen() { # PATTERN [OPTION...]
    local output index pattern=$1 users=0
    shift
    mpi=(--mca btl_base_verbose 10 "$@")
    mpi_job 2 "$mpi_tests/probe"
    output=$(timeout -k 5 200 "${mpi_command[@]}" 2>&1) || {
        echo "$output"
        return 1
    }
    for index in $(sed -n 's/.*rbuf: port rxe0:1,.* GID index \([0-9]*\) (.*/\1/p' <<<"$output"); do
        echo "index $index: $(gid_at "$index")"
        [[ $(gid_at "$index") =~ $pattern ]] || return 1
        users=$((users + 1))
    done
    [ $users = 2 ]
}

job_of_refused() { # INDEX
    local status=0
    wrong=
    timeout -k 5 200 "${mpi_command[@]}" >"$log" 2>&1 || status=$?
    if [ $status = 0 ] || [ $status = 124 ]; then
        wrong="exit status $status"
    elif ! grep -q "index $1; in use are: 0, 1" "$log"; then
        wrong="the entries in use are not named"
    fi
}

refused() { # INDEX
    local log=$TALLY_LOGS/refused wrong
    mpi=(--mca btl_rbuf_gid_index "$1")
    mpi_job 2 "$mpi_tests/probe"
    until_told job_of_refused "$1"
    [ -z "$wrong" ] && return
    cat "$log"
    echo "$wrong"
    return 1
}

ip link add fabric0 type dummy && roce_on rxe0 fabric0 && await has_gid '^fe80' || exit
try "$vm_test: link-local where there is nothing else" chosen '^fe80'
ip addr add 169.254.7.7/16 dev fabric0 && ip addr add fd77::1/64 dev fabric0 nodad &&
    await has_gid '^fd77' || exit
try "$vm_test: a routable IPv6 address before link-local ones" chosen '^fd77'
no_device

one_device && await has_gid ':ffff:0a4e:0001' && await has_gid '^fe80' || exit
try "$vm_test: a routable IPv4 address before all" chosen ':ffff:0a4e:0001'
try "$vm_test: btl_rbuf_gid_index overrides" chosen '^fe80' --mca btl_rbuf_gid_index 0
try "$vm_test: an empty entry is refused, and those in use are named" refused 9
no_device
