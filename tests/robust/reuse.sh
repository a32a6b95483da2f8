#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Reuse: no message is sent from pages that are gone, though buffers are unmapped and mapped anew, freed and
# allocated again, and the process forks; and without the memory hooks that would be seen here, by the
# emulated adapter. Where the hooks are blind it is off, and that is said.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
deaf=$TALLY_LOGS/deaf.so
${CC:-cc} -shared -fPIC -o "$deaf" "$here/deaf.c" -ldl || exit 1
reuse=(--mca btl_rbuf_reuse on --mca btl_rbuf_reuse_speculation 0 --mca btl_rbuf_report 1)

# gathered MOST: what is wrong if fewer messages were gathered by a process than one, or more than MOST.
gathered() {
    local counts
    counts=$(grep -o ' reuse_gathered=[0-9]*' "$log" | cut -d= -f2)
    awk -v most="$1" '$1 > most { print "gathered " $1 " messages" } END { if (!NR) print "no report" }' \
        <<<"${counts:-}" | head -n 1
    [ "$1" = 0 ] || ! grep -qx 0 <<<"$counts" || echo "gathered nothing"
}

right() { # NAME MOST PROGRAM
    local name="reuse: $1" wrong
    job "$name" 60 2 "$mpi_tests/$3"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(gathered "$2")
    verdict "$name" "$wrong"
}

hca=()
mpi=("${reuse[@]}")
right "memory that changes" 100000 remap
right "processes that fork" 100000 forks

# The first to ask is the trial of the hooks, which succeeds.
wrap=(sh -c 'DEAF=1 LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$deaf")
name="reuse: without hooks, which is seen"
job "$name" 60 2 "$mpi_tests/remap"
wrong="no stale registration was found: the test could not fail"
! grep -q 'stale registration: key' "$log" || wrong=
verdict "$name" "$wrong"

wrap=(sh -c 'DEAF=0 LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$deaf")
blind() {
    job "$name" 60 2 "$mpi_tests/remap"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(gathered 0)
    [ -n "$wrong" ] || grep -q 'btl_rbuf_reuse is on, but Open MPI' "$log" || wrong="not said"
}
name="reuse: hooks that are blind"
until_told blind
verdict "$name" "$wrong"
tally
