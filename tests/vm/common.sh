# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the tests that run in a guest: MPI jobs over Soft-RoCE, counting.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm_test=$(basename "$(dirname "$0")")/$(basename "$0" .sh)
vm_linux=$(uname -r | sed 's/^\([0-9]*\.[0-9]*\).*/\1/') # such as 6.12
TALLY_LOGS=/out/logs/$vm_test
mkdir -p "$TALLY_LOGS"
. "$here/../tally.sh"
. "$here/devices.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi_tests=$RBUF_BUILD/tests/mpi
vm_programs=$RBUF_BUILD/tests/vm
protocols="superpipeline pipeline copy register rcache"
# Where the protocols are not the question, one that copies and one that does not will do.
some_protocols=$protocols
[ "$vm_all" = yes ] || some_protocols="superpipeline rcache"

# Soft-RoCE copies a packet by the kernel's memcpy(), which goes upwards until Linux 6.3. Since 6.4 it may begin at
# the end, so that the last word of a write is there before the others.
writes_are_ordered()
{
    [ "$(printf '%s\n' "$vm_linux" 6.4 | sort -V | head -n 1)" != 6.4 ]
}

# What flags is told: the promise of this kernel.
order=any
! writes_are_ordered || order=ordered

mpi=() # options of mpirun for the next jobs

# Sets the array mpi_command: an MPI program over rbuf, its ranks dealt out to the guests in turn.
mpi_job() # RANKS PROGRAM [ARGUMENT...]
{
    local ranks=$1 hosts=()
    shift
    if [ "$vm_nodes" = 2 ]; then
        hosts=(--host "vm1:$ranks,vm2:$ranks" --map-by node --mca plm_rsh_agent "$here/on.sh"
            --mca oob_tcp_if_include eth0)
    fi
    mpi_command=(mpirun -np "$ranks" "${hosts[@]}" --oversubscribe --bind-to none --mca pml ob1
        --mca btl rbuf,self --mca osc rdma --mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR"
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
