#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Eager rings that cannot be had, or not as asked for: small messages go over send/receive then, and the
# data is right. What the way was is read in the counters of each job.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

subject=rings
shown=ring_sent
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"

none="ring_sent=0 ring_received=0"
some="ring_sent>100"

# --- adapters that do not place in order ---

# A receiver sees what has come in part only if it polls just then; where ranks share a processor, one job may see
# none. So it is asked of all of them together.
incomplete=0
for setting in ring_threshold=16 ring_threshold=1; do
    with $setting
    for order in random words; do
        hca=(--data-in-order off --fault "order=$order")
        for mode in sizes flood; do
            right "$order order, $setting, $mode" "$some" 2 "$mpi_tests/rings" $mode
            incomplete=$((incomplete + $(counted ring_incomplete)))
        done
    done
    right "no order, $setting, partners" "$some" 4 "$mpi_tests/rings" partners
done
try "rings: what had come in part was seen" test $incomplete -gt 0
with subblock=off
hca=()
right "subblock off" "$none ring_admitted=0" 2 "$mpi_tests/rings" flood none

# --- no memory for rings ---

# What a rank registers, and pins, without rings.
with polling_set=0
right "off" "$none ring_admitted=0 ring_opened=0" 2 "$mpi_tests/rings" sizes
each=$(($(counted registrations) / 2))
peak=$(sed -n 's/^rbuf-report:.* pinned_peak=\([0-9]*\).*/\1/p' "$log" | sort -n | tail -n 1)
with ring_threshold=2
hca=(--fault "call=reg_mr:$((each + 1))+" --verbose)
right "no registration is left for them" "$none ring_admitted=0" 2 "$mpi_tests/rings" sizes none
grep -q '\]: fault: ' "$log" || fail "rings: the fault happened" "it did not"
hca=(--fault "only=OMPI_COMM_WORLD_RANK:1,call=reg_mr:$((each + 1))+")
right "no registration is left at one side" "$none" 2 "$mpi_tests/rings" sizes none
hca=(--fault "call=reg_mr:$((each + 2))+")
right "one registration is left" "ring_admitted>0 ring_opened<2" 2 "$robust_tests/faulted" 100 50
hca=(--memlock "$peak")
right "no memory may be pinned for them" "$none ring_admitted=0" 2 "$mpi_tests/rings" sizes none
hca=(--memlock $((peak + 3 * 87 * 2112 / 2))) # and a half
right "memory may be pinned for one" "ring_admitted>0 ring_opened<2" 2 "$robust_tests/faulted" 100 50

# --- processes that differ ---

hca=()
with
unlike "$none" polling_set=0
unlike "$some" ring_slots=2
unlike "$some" ring_slots=5 ring_slot_size=192
unlike "$some" ring_slots=64 ring_slot_size=128
unlike "$some" ring_slots=2 ring_slot_size=32k
unlike "$some" ring_slots=64 ring_slot_size=32k
unlike "$some ring_long>10" ring_longest=5000
unlike "$some ring_long>10" ring_slots=20
unlike "$some" ring_longest=0
unlike "$some" ring_slot_size=2176
unlike "$some" ring_threshold=1
unlike "ring_sent>20 ring_opened=1" ring_threshold=1000000
for setting in eager_limit=4096 max_send_size=131072 control_size=1k; do
    job "rings: odd ranks have $setting" 60 2 "$mpi_tests/unlike" $setting
    wrong=$(wrong_failure 30)
    [ -n "$wrong" ] || grep -q "receive buffers are of another size" "$log" || wrong="the cause is not named"
    verdict "rings: odd ranks have $setting" "$wrong" "$took s"
done
with ring_slots=2 ring_slot_size=128
unlike "ring_sent>20" ring_slots=64 ring_slot_size=2k
with ring_slots=64 ring_slot_size=32k
unlike "$some" ring_slots=3 ring_slot_size=256
with polling_set=0
unlike "$none" polling_set=16

# --- limits of Open MPI's own, as nobody else has them ---

limits() { # PROGRAMS NAME=VALUE...: programs with commas
    local programs program
    IFS=, read -ra programs <<<"$1"
    with "${@:2}"
    for program in "${programs[@]}"; do
        # shellcheck disable=SC2086 # a program and its arguments
        right "${*:2}, $program" "" 2 "$mpi_tests"/$program
    done
}

any="storm 8 100000 3,order,persistent,types"
limits "$any,rings sizes,rings flood" eager_limit=128k
limits "$any" eager_limit=128k max_send_size=16k control_size=1k
limits "$any" eager_limit=60k control_size=60k
limits "$any,threshold" max_send_size=16k
limits "$any,packed" control_size=4k rndv_eager_limit=8k
limits "$any,packed" early_c0=12k rndv_eager_limit=16k
limits "$any" min_rdma_pipeline_size=100k
limits "$any,packed,late,pingpong,modes" eager_limit=4k

# --- more partners than places ---

for setting in polling_set=2 polling_set=1; do
    with $setting
    right "$setting, 4 ranks" "ring_sent>1000 ring_admitted>8 ring_recalled>4" 4 "$mpi_tests/rings" partners
    right "$setting, 8 ranks" "ring_sent>1000 ring_admitted>16 ring_recalled>8" 8 "$mpi_tests/rings" partners
done
with polling_set=1 ring_slots=2 ring_threshold=1
right "polling_set=1 ring_slots=2 ring_threshold=1, 6 ranks" "ring_admitted>6 ring_recalled>6" 6 \
    "$mpi_tests/rings" partners

# --- receives that nobody posted, with a full ring ---

for setting in ring_slots=32 ring_slots=2 ring_slots=64; do
    with $setting
    right "$setting, flood" "ring_full>0 ring_sent>0" 2 "$mpi_tests/rings" flood
    right "$setting, many to one" "ring_sent>0" 4 "$mpi_tests/many_to_one"
done
tally
