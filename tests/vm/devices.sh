# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced in a guest: makes and removes Soft-RoCE devices, and reads what the kernel counts of them.

# Waits until COMMAND succeeds, at most 10 seconds.
await() # COMMAND...
{
    local i
    for ((i = 0; i < 100; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "await: never came true: $*" >&2
    return 1
}

# A Soft-RoCE device on an interface; large frames, so that its MTU can be 4096.
roce_on() # DEVICE INTERFACE
{
    ip link set "$2" mtu 4500 up && rdma link add "$1" type rxe netdev "$2" &&
        await grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# One device, rxe0, for all processes of the guest, on an interface that leads nowhere.
one_device()
{
    ip link add fabric0 type dummy && ip addr add 10.78.0.1/24 dev fabric0 && roce_on rxe0 fabric0
}

# Two devices, rxe1 and rxe2, joined by a cable that goes through the kernel's queueing disciplines. Both
# ends belong to this machine, which takes packets from itself only if told to.
cable()
{
    local end
    ip link add left mtu 4500 type veth peer name right mtu 4500 || return
    ip link set left up && ip link set right up || return # no device comes up without the other end
    for end in all left right; do
        echo 1 >/proc/sys/net/ipv4/conf/$end/accept_local
        echo 0 >/proc/sys/net/ipv4/conf/$end/rp_filter
    done
    ip addr add 10.79.0.1/24 dev left && ip addr add 10.79.0.2/24 dev right &&
        ip neigh add 10.79.0.2 lladdr "$(cat /sys/class/net/right/address)" dev left nud permanent &&
        ip neigh add 10.79.0.1 lladdr "$(cat /sys/class/net/left/address)" dev right nud permanent &&
        roce_on rxe1 left && roce_on rxe2 right
}

# A tap device that a process holds open, as a virtual machine does, and that nobody reads.
tap() # NAME
{
    # TUNSETIFF with IFF_TAP and IFF_NO_PI
    perl -e 'open my $tap, "+<", "/dev/net/tun" or die "tun: $!\n";
        ioctl $tap, 0x400454ca, pack "Z16 S x22", $ARGV[0], 0x1002 or die "tap: $!\n";
        sleep 3600' "$1" &
    tap_holders+=($!)
    await ip link show "$1"
}

# Ends these processes, and with them the devices.
no_tap()
{
    kill "${tap_holders[@]}" && wait "${tap_holders[@]}" 2>/dev/null
    tap_holders=()
}

no_device()
{
    local device
    for device in /sys/class/infiniband/*; do
        [ -e "$device" ] && rdma link delete "$(basename "$device")"
    done
    for device in fabric0 left; do
        ip link delete "$device" 2>/dev/null
    done
    return 0
}

# The sum of some of the counters that the kernel keeps of a device.
device_counters() # DEVICE NAME...
{
    local device=$1 name sum=0
    shift
    for name in "$@"; do
        sum=$((sum + $(cat "/sys/class/infiniband/$device/ports/1/hw_counters/$name")))
    done
    echo $sum
}
