#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Random traffic on 4 ranks with every byte compared, and what many connections cost. Ends with the
# line "N passed, N failed, N skipped".
#
#   run.sh [--all | --minutes N] [--seed S] [traffic] [scale]
#
#   traffic   soak over five protocols, three of them on an adapter that places words in any order, and over
#             superpipeline and pipeline with odd parameters
#   scale     connections.sh
#   --all     as --minutes 60
#   --minutes N  superpipeline for N minutes, and at the same time the others for N/6 minutes each,
#             then ten jobs with odd parameters for N/60 minutes each, all at low priority; the seed is
#             taken from the clock. The first, pipeline and register are on an adapter that places words in any
#             order
#
# A job that fails shows the command that repeats it. Environment: RBUF_BUILD, RBUF_COMPONENT_DIR,
# SOFTHCA, TALLY_LOGS, as ../robust/common.sh has them.
set -u
soak_dir=$(cd "$(dirname "$0")" && pwd)
minutes=
seed=
parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --all) minutes=60 ;;
    --minutes) minutes=${2:?--minutes wants a number} && shift ;;
    --seed) seed=${2:?--seed wants a number} && shift ;;
    traffic | scale) parts+=("$1") ;;
    *)
        sed -n '4,/^set/s/^#* \{0,1\}//p' "$0" | grep -v '^set' >&2
        exit 2
        ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(scale traffic) # the second has a low priority
seed=${seed:-${minutes:+$(date +%s)}}
seed=${seed:-1}
# shellcheck source=tests/robust/common.sh
. "$soak_dir/../robust/common.sh"
soak=$RBUF_BUILD/tests/soak/soak
if [ -f "$RBUF_BUILD/tests/soak/Makefile" ]; then
    make -C "$RBUF_BUILD/tests/soak" check TESTS= >"$(log_of "soak programs")" 2>&1 || {
        fail "soak programs"
        show_log "soak programs"
        tally
        exit 1
    }
fi

# What a job must leave: four ranks at their end, nothing registered, nothing reached through a
# registration that had outlived its memory.
wrong_soak() { # STATS
    wrong_success | grep . && return
    if [ "$(lines_with '^end: rank')" != 4 ]; then
        echo "not all ranks came to their end"
    elif [ "$(grep -c '"registered_bytes": *[0-9]' "$1")" -lt 4 ]; then
        echo "the adapter's counters are missing"
    elif grep -q -E '"registered_bytes": *[1-9]' "$1"; then
        echo "memory is still registered at the end"
    elif grep -q -E '"stale_accesses": *[1-9]' "$1"; then
        echo "memory was reached through a stale registration"
    fi
}

# soak_job NAME PROTOCOL SECONDS [SOAK OPTION...]: uses the arrays mpi and hca.
soak_job() {
    local name=$1 protocol=$2 seconds=$3 stats wrong options
    shift 3
    stats=$(log_of "$name").stats
    rm -f "$stats"
    options=("${hca[@]}")
    hca+=(--stats "$stats" --fabric "soak-$$-$BASHPID")
    mpi+=(--mca btl_rbuf_protocol "$protocol")
    # A cache keeps registrations of memory that is still mapped.
    [ "$protocol" = rcache ] && set -- --pinned 200 "$@"
    set -- --seed "$seed" --seconds "$seconds" "$@"
    job "$name" $((seconds + 300)) 4 "$soak" "$@"
    wrong=$(wrong_soak "$stats")
    if [ -n "$wrong" ]; then
        {
            echo "again: $softhca --profile unpaced ${options[*]} -- $mpirun -np 4 --oversubscribe" \
                "--bind-to none --mca pml ob1 --mca btl $btls --mca osc $osc --mca" \
                "mca_base_component_path SYS_DEFAULT:$RBUF_COMPONENT_DIR ${mpi[*]} $soak $*"
        } >>"$log"
    fi
    verdict "$name" "$wrong" "seed $seed, $(sed -n 's/^end: rank 0, //p' "$log")"
}

# one_of VARIABLE VALUE...: one of the values, by the seed. (Not by its output: a subshell has dice of
# its own, and what they gave cannot be had again.)
one_of() {
    local -n drawn=$1
    shift $((1 + RANDOM % ($# - 1)))
    drawn=$1
}

# odd PARAMETER VALUE...: sets the parameter to one of the values; "-": it stays as it is.
odd() {
    local value
    one_of value "${@:2}"
    test "$value" = - || mpi+=(--mca "btl_rbuf_$1" "$value")
}

# Sets mpi, hca, protocol and staging (KB) to what is unlike what anybody would set, but valid.
odd_parameters() {
    local largest buffers times in_order
    one_of largest 16 64 256
    one_of buffers 1 2 3 7 16
    one_of times 1 1 2 3 8
    staging=$((2 * largest * buffers * times))
    mpi=(--mca btl_rbuf_largest_chunk "${largest}k" --mca btl_rbuf_buffers "$buffers"
        --mca btl_rbuf_staging_size "$((staging < 64 ? 64 : staging))k")
    odd staging_start 64k 1M 64G
    odd block_size 512 4096 4096 16384
    odd c0 512 4096 12288 16384
    odd q 1 1.07 1.5 2 7.3
    odd early_data on off
    odd control_credits 4 5 64
    odd bulk_credits 2 3 16
    odd control_buffers 16 256
    odd bulk_buffers 4 32
    odd send_queue 16 128
    odd grant_wait 0 1us 5ms 1s
    odd quantum 4k 16k 1m
    odd early_peers 0 1 - -
    odd early_size 4k 16k - -
    odd polling_set 0 2 - - -
    odd ring_threshold 1 -
    odd ring_slots 2 5 - -
    odd ring_slot_size 512 1024 - -
    odd ring_longest 0 4k - -
    odd ring_c0 0 512 - -
    odd control_size 1k 4k - -
    odd eager_limit 2k 16k 60k - - - -
    one_of osc rdma rdma,rbuf
    one_of packed 512 4k 1M
    [ "$osc" = rdma ] ||
        mpi+=(--mca osc_rbuf_aggregate 1 --mca osc_rbuf_limit 400 --mca osc_rbuf_message_size "$packed")
    odd_order
    one_of protocol superpipeline superpipeline pipeline
}

# What the adapter promises and does. `subblock=on` believes in an order; it may be said where there is one.
odd_order() {
    local order
    one_of order promised kept kept random words words
    case $order in
    promised | kept)
        hca=(--data-in-order "$([ $order = promised ] && echo on || echo off)")
        odd subblock on on off checked -
        ;;
    *)
        hca=(--data-in-order off --fault "order=$order")
        odd subblock checked off - -
        ;;
    esac
}

odd_job() { # NUMBER SECONDS
    local seed=$((seed + $1)) staging protocol osc packed
    RANDOM=$((seed % 32768))
    odd_parameters
    # Staging may grow late, and so may the pools of fragments, by some slabs of half a megabyte: the
    # warm-up is short.
    soak_job "odd parameters $1" "$protocol" "$2" --ceiling 900 --pinned $((6 + staging / 1024))
}

# Were blocks taken from writes that arrive in disorder, bytes would be wrong: a run that does so must
# find it, or it checks nothing. Without eager rings, whose envelopes would be wrong, too, and end it
# before it finds anything.
disorder_job() {
    local name="disorder is seen" wrong="no wrong byte was found" tries=0
    mpi=(--mca btl_rbuf_protocol superpipeline --mca btl_rbuf_subblock on
        --mca btl_rbuf_polling_set 0)
    hca=(--fault order=random)
    while [ -n "$wrong" ] && [ $tries -lt 5 ]; do
        tries=$((tries + 1))
        job "$name" 60 4 "$soak" --seed $tries --seconds 10
        grep -q '^wrong: .*wrong from byte' "$log" && wrong=
    done
    verdict "$name" "$wrong" "try $tries"
}

plain_job() { # PROTOCOL SECONDS
    mpi=(--mca btl_rbuf_staging_start 64G) # what is pinned later is a leak
    hca=()
    soak_job "$1" "$1" "$2"
}

# On an adapter that promises no order, and places the words of each write in any.
unordered_job() { # PROTOCOL SECONDS
    mpi=(--mca btl_rbuf_staging_start 64G)
    hca=(--data-in-order off --fault order=words)
    soak_job "$1, words in any order" "$1" "$2"
}

# Small one-sided operations packed.
packed_job() { # SECONDS
    local osc=rdma,rbuf
    mpi=(--mca btl_rbuf_staging_start 64G --mca osc_rbuf_aggregate 1)
    hca=()
    soak_job packed superpipeline "$1"
}

traffic_short() {
    local protocol
    for protocol in superpipeline copy rcache; do
        plain_job $protocol 6
    done
    for protocol in superpipeline pipeline register; do
        unordered_job $protocol 6
    done
    packed_job 6
    for number in 1 2 3; do
        odd_job $number 5
    done
    disorder_job
}

# The long job has a shell of its own, and its verdict is read at the end.
traffic_long() {
    renice -n 15 $$ >/dev/null # what is tested beside it has limits by the clock
    local seconds=$((minutes * 60)) protocol line
    (unordered_job superpipeline $seconds) >"$TALLY_LOGS/superpipeline.verdict" 2>&1 &
    for protocol in superpipeline copy rcache; do
        plain_job $protocol $((seconds / 6))
    done
    for protocol in pipeline register; do
        unordered_job $protocol $((seconds / 6))
    done
    packed_job $((seconds / 6))
    for number in 1 2 3 4 5 6 7 8 9 10; do
        odd_job $number $((seconds / 60))
    done
    wait $!
    cat "$TALLY_LOGS/superpipeline.verdict"
    line=$(grep -c '^PASS' "$TALLY_LOGS/superpipeline.verdict")
    passed=$((passed + line))
    failed=$((failed + 1 - line))
}

for part in "${parts[@]}"; do
    case $part in
    traffic)
        if [ -n "$minutes" ]; then
            traffic_long
        else
            traffic_short
        fi
        ;;
    scale)
        . "$soak_dir/connections.sh"
        ;;
    esac
done
tally
