#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Protocol helper: no message is sent from pages that are gone, or received into them, though buffers are
# unmapped and mapped anew, freed and allocated again, and the process forks; and without the memory hooks
# that would be seen here, by the emulated adapter. Where the hooks are blind there is no helper, and that
# is said; likewise where no core is idle, and is not.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
deaf=$TALLY_LOGS/deaf.so
${CC:-cc} -shared -fPIC -o "$deaf" "$here/deaf.c" -ldl || exit 1
helper=(--mca btl_rbuf_protocol helper --mca btl_rbuf_helper_min 1 --mca btl_rbuf_report 1)

# counted NAME: the least of what the processes counted under that name; nothing without a report.
counted() {
    grep -o " helper_$1=[0-9]*" "$log" | cut -d= -f2 | sort -n | head -n 1
}

right() { # NAME PROGRAM
    local name="helper: $1" wrong
    job "$name" 60 2 "$mpi_tests/$2"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(counted ready)" -gt 0 ] || wrong="nothing was registered when it was used"
    verdict "$name" "$wrong"
}

hca=()
mpi=("${helper[@]}" --mca btl_rbuf_helper_policy force)
right "memory that changes" remap
right "processes that fork" forks
mpi+=(--mca btl_rbuf_helper_regions 4)
right "more buffers than regions" reuse
mpi=("${helper[@]}" --mca btl_rbuf_helper_policy force --mca btl_rbuf_helper_frames off)
right "without stack frames" reuse

# The first to ask is the trial of the hooks, which succeeds.
mpi=("${helper[@]}" --mca btl_rbuf_helper_policy force)
wrap=(sh -c 'DEAF=1 LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$deaf")
name="helper: without hooks, which is seen"
job "$name" 60 2 "$mpi_tests/remap"
wrong="no stale registration was found: the test could not fail"
! grep -q 'stale registration: key' "$log" || wrong=
verdict "$name" "$wrong"

wrap=(sh -c 'DEAF=0 LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$deaf")
blind() {
    job "$name" 60 2 "$mpi_tests/remap"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || grep -q 'Protocol helper was asked for, but Open MPI' "$log" || wrong="not said"
}
name="helper: hooks that are blind"
until_told blind
verdict "$name" "$wrong"

wrap=()
for policy in off conservative aggressive coordinated; do
    # As many processes as processors, so that no core is idle.
    mpi=("${helper[@]}" --mca btl_rbuf_helper_policy $policy)
    name="helper: policy $policy, no idle core"
    if [ "$(nproc)" -lt 2 ] || [ "$(nproc)" -gt 8 ]; then
        skip "$name" "it wants 2 to 8 processors"
        continue
    fi
    job "$name" 60 "$(nproc)" "$mpi_tests/collectives"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(counted ahead)" = 0 ] || wrong="memory was registered ahead"
    [ -n "$wrong" ] || [ "$(counted mispredicted)" = 0 ] || wrong="a registration was planned"
    verdict "$name" "$wrong"
done
tally
