#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Staging that grows: not for one message at a time, of whatever length; for many at once, and for many
# partners; and not where no more can be pinned. The data is right, and what the way was is read in the
# counters of each job.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
subject=staging
shown=staging_grown
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"
bench=$RBUF_BUILD/ompi-mca-btl-rbuf/rbuf-bench
is=$RBUF_BUILD/contrib/nas_is/nas_is
hca=()

# The most that a rank of the last job had pinned, bytes.
pinned_peak() {
    sed -n 's/^rbuf-report:.* pinned_peak=\([0-9]*\).*/\1/p' "$log" | sort -n | tail -n 1
}

# pinning NAME MOST PROGRAM [ARGUMENT...]: staging does not grow, and no rank pins more than MOST bytes.
pinning() {
    local name="staging: $1" most=$2 wrong
    mpi=(--mca btl_rbuf_report 2)
    job "$name" 90 2 "${@:3}"
    pinned=$(pinned_peak)
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(wrong_counters staging_grown=0)
    if [ -z "$wrong" ] && { [ "${pinned:-0}" -eq 0 ] || [ "$pinned" -gt "$most" ]; }; then
        wrong="${pinned:-no} bytes pinned, $most at most"
    fi
    verdict "$name" "$wrong" "$pinned bytes pinned, $took s"
}

# --- one message at a time ---

# Half of what a registration cache pins in IS W.
pinning "messages of 64k" 12600000 "$bench" --check --sizes 64k --reps 5
least=$pinned
for size in 1M 8M 64M; do
    pinning "messages of $size, no more than 64k" "$least" "$bench" --check --sizes $size --reps 5
done
pinning "NAS IS, class W" 12600000 "$is" --class W
pinning "NAS IS, class W, new buffers" 12600000 "$is" --class W --fresh-buffers

# --- less than the buffers of one message want ---

# little SIZE PROGRAM... : with so much staging, and the settings of `with`, the data is right.
little() {
    local of=("${mpi[@]}")
    mpi+=(--mca btl_rbuf_staging_size "$1")
    right "staging_size=$1 $settings" "messages_refused=0 staged_messages>0" "${ranks:-2}" "${@:2}"
    mpi=("${of[@]}")
}
sizes="65537 128k 1572863"
all_settings=(protocol=pipeline protocol=copy subblock=off block_size=32k buffers=16)
if [ "$robust_all" = yes ]; then
    sizes="64k 65537 96k 128k 200000 512k 1M 1572863"
    all_settings+=("protocol=pipeline pipeline_chunk=128k" "protocol=auto allow_cache=off" subblock=checked
        "block_size=32k protocol=copy" block_size=16k block_size=512 "c0=128k largest_chunk=255M" early_data=off
        grant_wait=0)
fi
for size in $sizes; do
    settings=
    with
    little $size "$mpi_tests/unlike" report=2
done
for settings in "${all_settings[@]}"; do
    # shellcheck disable=SC2086 # the settings are words
    with $settings
    little 64k "$mpi_tests/unlike" report=2
done
settings=
with
settings=storm
ranks=4 little 64k "$mpi_tests/storm"
if [ "$robust_all" = yes ]; then
    settings=collectives
    ranks=4 little 64k "$mpi_tests/collectives"
    settings=growing
    little 64k "$robust_tests/growing" 4
    with staging_size=64k
    right "staging_size=64k, one-sided" "one_sided_copied_puts>0" 2 "$mpi_tests/onesided"
fi
with staging_size=64k
right "staging_size=64k, copied" "one_sided_copied_puts>0" 2 "$mpi_tests/copied"

# That saves what it is to save.
pinning "staging of the default size" 12600000 "$bench" --check --sizes 1M --reps 5
pinned_before=$pinned
little_pinning() {
    local name="staging: of 128k" wrong
    mpi=(--mca btl_rbuf_report 2 --mca btl_rbuf_staging_size 128k)
    job "$name" 90 2 "$bench" --check --sizes 1M --reps 5
    pinned=$(pinned_peak)
    wrong=$(wrong_success)
    if [ -z "$wrong" ] && [ $((pinned_before - ${pinned:-0})) -lt $(((4 << 20) - (128 << 10))) ]; then
        wrong="${pinned:-no} bytes pinned, $pinned_before with 4 MB"
    fi
    verdict "$name" "$wrong" "$pinned bytes pinned, $pinned_before with 4 MB"
}
little_pinning

# --- many at once ---

with
right "windows" "staging_grown>2" 2 "$robust_tests/growing" 4
with subblock=off
right "windows, subblock off" "staging_grown>2" 2 "$robust_tests/growing" 4
with staging_start=64k
right "windows, the least to start with" "staging_grown>4" 2 "$robust_tests/growing" 4
with staging_start=64k largest_chunk=64k block_size=16k early_size=16k
right "windows, the least of small chunks" "staging_grown>4" 2 "$robust_tests/growing" 4
with staging_start=1000000 staging_size=5000000 # no powers of two
right "windows, odd sizes" "staging_grown>1" 2 "$robust_tests/growing" 4
with staging_start=64G
right "windows, all from the start" "staging_grown=0" 2 "$robust_tests/growing" 4
with protocol=pipeline pipeline_chunk=256k
right "windows, protocol pipeline" "staging_grown>2" 2 "$robust_tests/growing" 4
with protocol=copy
right "windows, protocol copy" "staging_grown>0" 2 "$robust_tests/growing" 16
with protocol=auto allow_cache=off
right "windows, protocol auto" "staging_grown>0" 2 "$robust_tests/growing" 4

# What waits longer than grant_wait is registered in its place. Here all wait longer, whatever moves meanwhile.
with staging_size=4M grant_wait=10us
right "windows for which there is no room" "grants_deferred>0 grants_direct>0" 2 "$robust_tests/growing" 16

# As much as the staging is registered at once, or one message: one of 8 MB each way, and on a busy machine, where
# nothing moves for 100 ms, one or two more; of the eight that wait. More are only where nothing moves for long: on a
# machine that others keep busy it is tried again. On a quiet one staging moves all the time, and none is registered.
with staging_size=4M
for try in 1 2 3 4 5 6; do
    right "windows that wait their turn, try $try" "grants_deferred>0" 2 "$robust_tests/growing" 16
    pinned=$(pinned_peak)
    [ "${pinned:-60000000}" -ge 60000000 ] || break
done
if [ "${pinned:-0}" -gt 0 ] && [ "$pinned" -lt 60000000 ]; then
    pass "staging: a few of them are registered at once" "$pinned bytes pinned"
else
    fail "staging: a few of them are registered at once" "${pinned:-no} bytes pinned"
fi

# --- many partners ---

# Seven, of which six can have a window at the start.
with
right "partners for whose windows there is no room at the start" \
    "early_leased>24 early_recalled=0 staging_grown>7" 8 "$mpi_tests/storm"

# --- no more can be pinned ---

with
right "one message at a time" "staging_grown=0" 2 "$mpi_tests/pingpong"
each=$(($(counted registrations) / 2))
peak=$(pinned_peak)
hca=(--fault "call=reg_mr:$((each + 1))+" --verbose)
with
mpi=(--mca btl_base_verbose 10)
right "no registration is left for more" "staging_grown=0 grants_deferred>0 grants_direct=0" 2 "$robust_tests/growing" 4
grep -q '\]: fault: ' "$log" || fail "staging: the fault happened" "it did not"
said=$(lines_with 'staging to (send from|receive into) stays at 2097152 bytes: 2097152 more cannot be pinned')
if [ "$said" -ge 2 ] && [ "$said" -le 4 ]; then
    pass "staging: each side says so once for each direction" "$said times"
else
    fail "staging: each side says so once for each direction" "$said times"
fi
with
hca=(--fault "only=OMPI_COMM_WORLD_RANK:1,call=reg_mr:$((each + 1))+")
right "no registration is left at one side" "staging_grown>0" 2 "$robust_tests/growing" 4
hca=(--fault "call=reg_mr:$((each + 2))+")
right "one registration is left" "staging_grown<3" 2 "$robust_tests/growing" 4
hca=(--fault "call=reg_mr:$((each + 1))")
right "one registration fails" "staging_grown<7" 2 "$robust_tests/growing" 4
for more in 1 3 7; do
    hca=(--memlock $((peak + (more << 20))))
    right "$more MB more may be pinned" "staging_grown<$((1 + 2 * (more / 2)))" 2 "$robust_tests/growing" 4
done
hca=(--fault "memlock=$((each + 1)):1M")
right "the limit shrinks" "staging_grown=0" 2 "$robust_tests/growing" 4
hca=()

# --- processes that differ ---

with
for setting in staging_start=64G staging_start=64k staging_size=1536k staging_size=64k "largest_chunk=1M staging_start=64k" \
    "largest_chunk=4M staging_size=64M" "buffers=2 staging_size=64k" block_size=1k "block_size=1M largest_chunk=1M"; do
    # shellcheck disable=SC2086 # the settings are words
    unlike "messages_refused=0" $setting
done
tally
