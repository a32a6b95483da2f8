# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the tests that run in a guest: Soft-RoCE devices, MPI jobs over them, counting.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm_test=$(basename "$(dirname "$0")")/$(basename "$0" .sh)
TALLY_LOGS=/out/logs/$vm_test
mkdir -p "$TALLY_LOGS"
. "$here/../tally.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi_tests=$RBUF_BUILD/tests/mpi
vm_programs=$RBUF_BUILD/tests/vm
protocols="superpipeline pipeline copy register rcache"

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

no_device()
{
    local device
    for device in /sys/class/infiniband/*; do
        [ -e "$device" ] && rdma link delete "$(basename "$device")"
    done
    for device in fabric0 fabric1 left; do
        ip link delete "$device" 2>/dev/null
    done
    return 0
}

# A counter of a device, as the kernel keeps it; 0 if it has none of that name.
device_counter() # DEVICE NAME
{
    cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2" 2>/dev/null || echo 0
}

mpi=() # options of mpirun for the next jobs

# Sets the array mpi_command: an MPI program over rbuf.
mpi_job() # RANKS PROGRAM [ARGUMENT...]
{
    local ranks=$1
    shift
    mpi_command=(mpirun -np "$ranks" --oversubscribe --bind-to none --mca pml ob1 --mca btl rbuf,self
        --mca osc rdma --mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR"
        --mca mpi_warn_on_fork 0 --mca orte_base_help_aggregate 0 --mca mpi_yield_when_idle 1 "${mpi[@]}" "$@")
}

# Counts an MPI job that must end well, within LIMIT seconds.
try_mpi() # NAME LIMIT RANKS PROGRAM [ARGUMENT...]
{
    local name="$vm_test: $1" limit=$2
    shift 2
    mpi_job "$@"
    TALLY_TIMEOUT=$limit try "$name" "${mpi_command[@]}"
}
