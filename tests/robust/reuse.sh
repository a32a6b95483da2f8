#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Reuse: no message is sent, and nothing put or got, from or into pages that are gone, though buffers are
# unmapped and mapped anew, freed and allocated again, and the process forks; and without the memory hooks that
# would be seen here, by the emulated adapter. Where the hooks are blind it is off, and that is said.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
deaf=$TALLY_LOGS/deaf.so
${CC:-cc} -shared -fPIC -o "$deaf" "$here/deaf.c" -ldl || exit 1
reuse=(--mca btl_rbuf_reuse on --mca btl_rbuf_reuse_speculation 0 --mca btl_rbuf_report 1)

# counted COUNTER MOST: what is wrong if less was done by a process than once, or more often than MOST.
counted() {
    local counts
    counts=$(grep -o " reuse_$1=[0-9]*" "$log" | cut -d= -f2)
    awk -v most="$2" -v what="$1" '$1 > most { print what ": " $1 } END { if (!NR) print "no report" }' \
        <<<"${counts:-}" | head -n 1
    [ "$2" = 0 ] || ! grep -qx 0 <<<"$counts" || echo "$1: none"
}

right() { # NAME "COUNTER..." PROGRAM [ARGUMENT]
    local name="reuse: $1" counters=$2 wrong counter
    shift 2
    job "$name" 60 2 "$mpi_tests/$1" "${@:2}"
    wrong=$(wrong_success)
    for counter in $counters; do
        [ -n "$wrong" ] || wrong=$(counted "$counter" 100000)
    done
    verdict "$name" "$wrong"
}

hca=()
mpi=("${reuse[@]}")
right "memory that changes" gathered remap
right "memory that changes under puts" "puts gets" remap put
right "memory that changes under gets" "puts gets" remap get
right "processes that fork" gathered forks
right "processes that fork, one-sided" "puts gets" forks one-sided
right "one-sided programs" "puts gets" onesided

# The first to ask is the trial of the hooks, which succeeds.
wrap=(sh -c 'DEAF=1 LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$deaf")
for what in send put get; do
    name="reuse: without hooks, which is seen, $what"
    job "$name" 60 2 "$mpi_tests/remap" ${what#send}
    wrong="no stale registration was found: the test could not fail"
    ! grep -q 'stale registration: key' "$log" || wrong=
    verdict "$name" "$wrong"
done

wrap=(sh -c 'DEAF=0 LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$deaf")
blind() {
    job "$name" 60 2 "$mpi_tests/remap"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(counted gathered 0)
    [ -n "$wrong" ] || grep -q 'btl_rbuf_reuse is on, but Open MPI' "$log" || wrong="not said"
}
name="reuse: hooks that are blind"
until_told blind
verdict "$name" "$wrong"
tally
