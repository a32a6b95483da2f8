#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The GID that is used is the routable one, IPv4 first, whatever its place in the table; the user's word
# overrides it. A tap device has a link-local GID alone and leads nowhere: another port is taken, and where there is
# none the job is right or ends with a text. Addresses of a VLAN interface are in the table of the port below it.

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
    ! grep 'rbuf: port rxe[^0]' <<<"$output" | grep -v 'if no better one reaches' && [ $users = 2 ]
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

# ---- tap devices ----

job_on_tap() {
    local status=0
    wrong=
    timeout -k 5 200 "${mpi_command[@]}" >"$log" 2>&1 || status=$?
    if [ $status = 0 ]; then
        outcome="messages arrive"
    elif [ $status = 124 ]; then
        wrong="it hung"
    elif grep -qE 'a link-local (one, and|GID) may lead nowhere(: | \()give the interface of rxe' "$log"; then
        outcome="the text says why nothing arrives"
    else
        wrong="the cause is not said"
    fi
}

# A job that has tap devices alone is right, or ends with the text.
over_tap() { # [OUTCOME THAT IS WANTED]
    local log=$TALLY_LOGS/tap wrong
    until_told job_on_tap
    [ -z "$1" ] || [ -n "$wrong" ] || [ "$outcome" = "$1" ] || wrong=$outcome
    echo "$outcome"
    [ -z "$wrong" ] && return
    cat "$log"
    echo "$wrong"
    return 1
}

# ---- VLAN interfaces ----

# The first entry for RoCE v2 of an interface, with an address of IPv4.
index_of() { # INTERFACE
    local directory=/sys/class/infiniband/rxe0/ports/1 index
    for index in {0..15}; do
        if [ "$(cat $directory/gid_attrs/ndevs/"$index" 2>/dev/null)" = "$1" ] && [[ $(gid_at "$index") == *:ffff:* ]] &&
            [ "$(cat $directory/gid_attrs/types/"$index")" = "RoCE v2" ]; then
            echo "$index"
            return
        fi
    done
    return 1
}

# Kernels differ: a device on the VLAN interface is refused, or it works.
device_on_vlan() {
    local said
    if said=$(rdma link add rxe1 type rxe netdev fabric0.7 2>&1); then
        remark="a device on it can be made"
        mpi=(--mca btl_rbuf_if_include rxe1)
        mpi_job 2 "$mpi_tests/probe"
        timeout -k 5 200 "${mpi_command[@]}"
    else
        remark="no device on it: $said"
        echo "$remark"
    fi
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

tap tap0 && roce_on rxe0 tap0 && await has_gid '^fe80' || exit
mpi=(--mca btl_base_verbose 10)
mpi_job 2 "$mpi_tests/probe"
outcome=
try "$vm_test: a tap device alone" over_tap ''
echo "      Linux $vm_linux: $outcome"
no_device
one_device && await has_gid ':ffff:0a4e:0001' && roce_on rxe1 tap0 || exit
try "$vm_test: a tap device beside a port with an address" chosen ':ffff:0a4e:0001'
no_device
tap tap1 && roce_on rxe1 tap0 && roce_on rxe2 tap1 || exit
mpi_job 2 "$here/by_rank.sh" "$mpi_tests/probe"
try "$vm_test: from one tap device to another" over_tap "the text says why nothing arrives"
no_device
no_tap

one_device && await has_gid ':ffff:0a4e:0001' && ip link add link fabric0 name fabric0.7 type vlan id 7 &&
    ip addr add 10.78.7.1/24 dev fabric0.7 && ip link set fabric0.7 up && await has_gid ':ffff:0a4e:0701' || exit
try "$vm_test: a VLAN's addresses behind the port's own" chosen ':ffff:0a4e:0001'
try "$vm_test: btl_rbuf_gid_index names the VLAN" chosen ':ffff:0a4e:0701' \
    --mca btl_rbuf_gid_index "$(index_of fabric0.7)"
remark=
try "$vm_test: a device on a VLAN interface" device_on_vlan
echo "      Linux $vm_linux: the VLAN's entry is $(index_of fabric0.7); $remark"
no_device
