#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Protocol helper: no message is sent from pages that are gone, or received into them, though buffers are
# unmapped and mapped anew, freed and allocated again, and the process forks; and without the memory hooks
# that would be seen here, by the emulated adapter. Where the hooks are blind, or no thread can be made, there
# is no helper, and that is said; likewise where no core is idle, and is not. Under a limit that the buffers
# exceed a cache registers at each use, and the helper before.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
needs helper
helper=(--mca btl_rbuf_protocol helper --mca btl_rbuf_helper_min 1 --mca btl_rbuf_report 2)

# counted NAME: the least of what the processes counted under that name; nothing without a report.
counted() {
    grep -o " helper_$1=[0-9]*" "$log" | cut -d= -f2 | sort -n | head -n 1
}

# of_rank_0 NAME: what rank 0 counted under that name.
of_rank_0() {
    grep 'rank=0 ' "$log" | grep -o " $1=[0-9]*" | cut -d= -f2
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

# The uses that predict nothing: the first two, which fewer than two points are before, and of each name
# behind these the first two.
name="helper: one buffer for two peers, without stack frames"
job "$name" 60 3 "$mpi_tests/rhythm" --buffers 1 --turns 20 --pause 1 --size 100000
wrong=$(wrong_success)
[ -n "$wrong" ] || [ $(($(of_rank_0 helper_points) - $(of_rank_0 helper_predicted))) = 6 ] ||
    wrong="the peers are not told apart"
verdict "$name" "$wrong"

# 40 MB in turn, of which 13 can be registered. The cache evicts what is needed next, each time.
hca=(--memlock 26M)
limited() { # PROTOCOL COUNTER
    name="helper: buffers beyond a limit, $1"
    mpi=(--mca btl_rbuf_protocol "$1" --mca btl_rbuf_report 2 --mca btl_rbuf_helper_policy force
        --mca mpi_leave_pinned 1)
    job "$name" 120 2 "$mpi_tests/rhythm" --buffers 8 --turns 8
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(of_rank_0 direct_puts)" = 64 ] || wrong="not all is written in place"
    found=$(of_rank_0 "$2")
}
limited rcache cache_hits
[ -n "$wrong" ] || [ "$found" = 0 ] || wrong="the limit is none for the cache"
verdict "$name" "$wrong" "all registered anew"
limited helper helper_ready
[ -n "$wrong" ] || [ "$found" -gt 0 ] || wrong="nothing was registered when it was used"
verdict "$name" "$wrong" "$found of 64 found their memory registered"
hca=()

mpi=("${helper[@]}" --mca btl_rbuf_helper_policy force)
without_hooks "helper: without hooks, which is seen"
blind_hooks "helper: hooks that are blind" 'Protocol helper was asked for, but Open MPI' true

job_without_thread() { # NAME
    job "$1" 60 2 "$mpi_tests/reuse"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(lines_with '^Protocol helper was asked for, but its thread')" = 1 ] ||
        wrong="not said once"
    [ -n "$wrong" ] || [ "$(of_rank_0 helper_points)" = 0 ] || wrong="there is a helper"
}
for call in eventfd pthread_create; do
    name="helper: $call fails"
    preload failing.c "FAIL=$call"
    until_told job_without_thread "$name"
    verdict "$name" "$wrong"
done

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
