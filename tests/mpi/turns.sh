#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Twice as many ranks as processors, unbound, each of which yields when it waits: how long a message of 1 MB takes
# one way over rbuf beside openib with its cache, in turn. The median of rbuf's rounds is at most 1.3 of openib's.
#
#   turns.sh [ROUNDS]
#
# Environment: RBUF_BUILD, RBUF_COMPONENT_DIR, SOFTHCA. Exit status 77: Open MPI has no openib here.
set -u
rounds=${1:-3}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"
# shellcheck source=tests/mpi/rounds.sh
. "$here/rounds.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
program=${RBUF_BUILD:?names the build directory}/tests/mpi/turns
ranks=$((2 * $(nproc)))

# The microseconds of a run, or nothing.
turns_over() { # TRANSPORT
    transport_options "$1" || return
    mpi_launch_options "$ranks"
    timeout -k 5 120 "${SOFTHCA:-softhca}" --profile graphene --fabric "turns-$$" -- "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${transport_args[@]}" --mca mpi_yield_when_idle 1 "$program" 2>&1 </dev/null |
        sed -n 's/^turns: \([0-9.]*\) us$/\1/p'
}

if ! transport_options openib-pinned; then
    echo "Open MPI has no openib here"
    exit 77
fi
for ((round = 1; round <= rounds; round++)); do
    echo "$(turns_over superpipeline) $(turns_over openib-pinned)"
done | rounds_judge rbuf openib 1.3
