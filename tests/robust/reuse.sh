#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Reuse: no message is sent, and nothing put or got, from or into pages that are gone, though buffers are
# unmapped and mapped anew, freed and allocated again, and the process forks; and without the memory hooks that
# would be seen here, by the emulated adapter. Where the hooks are blind it is off, and that is said.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
needs reuse
reuse=(--mca btl_rbuf_reuse on --mca btl_rbuf_reuse_speculation 0 --mca btl_rbuf_report 2)

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

# Handed over by sendi first, and in place when buffers turn out to be frequently used.
mpi=(--mca btl_rbuf_reuse on --mca btl_rbuf_report 2)
right "buffers that become frequently used" gathered ../../ompi-mca-btl-rbuf/rbuf-bench --check --sizes 16k,40k \
    --pattern pingpong,both --reps 60 --burst 16
# Over send/receive, too, where a copied message is timed like one of a ring.
mpi=(--mca btl_rbuf_reuse on --mca btl_rbuf_polling_set 0 --mca btl_rbuf_report 2)
right "buffers that become frequently used, without rings" gathered ../../ompi-mca-btl-rbuf/rbuf-bench --check \
    --sizes 8k,16k --pattern pingpong --reps 60 --burst 100
mpi=("${reuse[@]}")

for what in send put get; do
    without_hooks "reuse: without hooks, which is seen, $what" ${what#send}
done
blind_hooks "reuse: hooks that are blind" 'btl_rbuf_reuse is on, but Open MPI' counted gathered 0
tally
