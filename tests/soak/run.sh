#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Random traffic on 4 ranks with every byte compared, and what many connections cost. Ends with the
# line "N passed, N failed, N skipped".
#
#   run.sh [--all | --minutes N] [--seed S] [traffic] [scale]
#
#   traffic   soak over the five protocols, and over superpipeline with odd parameters
#   scale     connections.sh
#   --all     as --minutes 60
#   --minutes N  superpipeline for N minutes, and at the same time the others for N/6 minutes each,
#             then ten jobs with odd parameters for N/60 minutes each; the seed is taken from the clock
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
[ ${#parts[@]} -gt 0 ] || parts=(traffic scale)
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
                "--bind-to none --mca pml ob1 --mca btl $btls --mca osc rdma --mca" \
                "mca_base_component_path SYS_DEFAULT:$RBUF_COMPONENT_DIR ${mpi[*]} $soak $*"
        } >>"$log"
    fi
    verdict "$name" "$wrong" "seed $seed, $(sed -n 's/^end: rank 0, //p' "$log")"
}

# A value of the list, by the seed.
one_of() {
    shift $((RANDOM % $#))
    echo "$1"
}

# Sets mpi, hca and staging (KB) to parameters that are unlike those that anybody would set, but valid.
odd_parameters() {
    local largest buffers block c0 start
    largest=$(one_of 16 64 256)
    buffers=$(one_of 1 2 3 7 16)
    block=$(one_of 512 4096 4096 16384)
    start=$(one_of 64k 1M 64G)
    c0=$(one_of 512 4096 12288 16384)
    staging=$((2 * largest * buffers * $(one_of 1 1 2 3 8)))
    mpi=(--mca btl_rbuf_largest_chunk "${largest}k" --mca btl_rbuf_buffers "$buffers"
        --mca btl_rbuf_block_size "$block" --mca btl_rbuf_c0 "$c0"
        --mca btl_rbuf_staging_size "$((staging < 64 ? 64 : staging))k" --mca btl_rbuf_staging_start "$start"
        --mca btl_rbuf_q "$(one_of 1 1.07 1.5 2 7.3)"
        --mca btl_rbuf_subblock "$(one_of on on off)"
        --mca btl_rbuf_prestage "$(one_of on off)"
        --mca btl_rbuf_control_credits "$(one_of 4 5 64)"
        --mca btl_rbuf_bulk_credits "$(one_of 2 3 16)"
        --mca btl_rbuf_control_buffers "$(one_of 16 256)"
        --mca btl_rbuf_bulk_buffers "$(one_of 4 32)"
        --mca btl_rbuf_send_queue "$(one_of 16 128)"
        --mca btl_rbuf_grant_wait "$(one_of 0 1us 5ms 1s)"
        --mca btl_rbuf_quantum "$(one_of 4k 16k 1m)")
    hca=(--data-in-order "$(one_of on off)")
}

odd_job() { # NUMBER SECONDS
    local seed=$((seed + $1)) staging
    RANDOM=$((seed % 32768))
    odd_parameters
    soak_job "odd parameters $1" "$(one_of superpipeline superpipeline pipeline)" "$2" \
        --ceiling 900 --pinned $((2 + staging / 1024)) # it may grow late
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

traffic_short() {
    local protocol
    for protocol in superpipeline pipeline copy register rcache; do
        plain_job $protocol 6
    done
    for number in 1 2 3; do
        odd_job $number 5
    done
    disorder_job
}

# The long job has a shell of its own, and its verdict is read at the end.
traffic_long() {
    local seconds=$((minutes * 60)) protocol line
    (plain_job superpipeline $seconds) >"$TALLY_LOGS/superpipeline.verdict" 2>&1 &
    for protocol in pipeline copy register rcache; do
        plain_job $protocol $((seconds / 6))
    done
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
