#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Hundreds of windows, four processes on what Open MPI takes for two nodes: how long it takes to make and free one
# with osc/rbuf in front of osc/rdma, beside osc/rdma alone, in turn. Wanted is 1.2 of its time; rounds
# differ by a fifth each way, so that their median may be 1.35. A communicator for each window took 1.5. There are
# minutes in which the ranks share the processors badly: medians of 5 rounds were 1.17 to 1.42, those of 15 were 1.21.
#
#   windows.sh [ROUNDS]
#
# Environment: RBUF_BUILD, RBUF_COMPONENT_DIR, SOFTHCA. Exit status 77: nodes cannot have host names of their own here.
set -u
rounds=${1:-15}
number=500 # windows at a time
ranks=4
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"
# shellcheck source=tests/mpi/rounds.sh
. "$here/rounds.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
program=${RBUF_BUILD:?names the build directory}/tests/mpi/windows

# The microseconds of a run, or nothing.
windows_with() { # AGGREGATE
    transport_options superpipeline || return
    mpi_launch_apart "$ranks" 2
    timeout -k 5 180 "${SOFTHCA:-softhca}" --fabric "windows-$$" -- "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${transport_args[@]}" --mca osc rdma,rbuf --mca osc_rbuf_aggregate "$1" --mca mpi_yield_when_idle 1 \
        "$program" time "$number" 2>&1 </dev/null | sed -n 's/^windows: \([0-9.]*\) us$/\1/p'
}

if ! mpi_has_nodes; then
    echo "nodes cannot have host names of their own here"
    exit 77
fi
for ((round = 1; round <= rounds; round++)); do
    echo "$(windows_with 1) $(windows_with 0)"
done | rounds_judge osc/rbuf osc/rdma 1.35
