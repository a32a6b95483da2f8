#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The emulated HCA is right when programs run on it that were written for real ones. This runs such
# programs, unmodified, and checks what they say.
#
#   tests/run.sh [--quick] [--build DIR] [--only REGEX] [STAGE...]
#
# Stages, all by default: launcher, calls (whether a function of libibverbs is missing), clients
# (ibverbs-utils and perftest), litmus (raw verbs), accuracy (measured bandwidth against the configured
# one). `make check` runs launcher, calls and litmus. --quick leaves most of the accuracy matrix out;
# --only runs just the checks whose names match (the launcher's excepted). DIR is softhca's build
# directory (SOFTHCA_BUILD; by default its source's); logs go to DIR/logs. The last line counts.

here=$(cd "$(dirname "$0")" && pwd)
build=${SOFTHCA_BUILD:-$here/..}
quick=no
only=
stages=()
while test $# -gt 0; do
    case $1 in
    --quick) quick=yes ;;
    --build) build=${2:?--build wants a directory} && shift ;;
    --only) only=${2:?--only wants a regular expression} && shift ;;
    launcher | calls | clients | litmus | accuracy) stages+=("$1") ;;
    *)
        echo "usage: run.sh [--quick] [--build DIR] [--only REGEX] [STAGE...]" >&2
        echo "stages: launcher calls clients litmus accuracy" >&2
        exit 2
        ;;
    esac
    shift
done
test ${#stages[@]} -gt 0 || stages=(launcher calls clients litmus accuracy)
build=$(cd "$build" && pwd) || exit 2
softhca=$build/softhca
TALLY_LOGS=$build/logs
mkdir -p "$TALLY_LOGS" || exit 2
# shellcheck source=contrib/softhca/tests/tally.sh
. "$here/tally.sh"

# A fabric of our own, so that other users of the machine do not share the links.
fabric=(--fabric "run-$$")
# What a client that was killed may have kept a launcher from removing.
trap 'rm -f "/dev/shm/softhca-$(id -u)-run-$$-"*' EXIT

# Whether the check is wanted and its program installed; counts it as skipped if it is not.
have() { # NAME PROGRAM
    test -z "$only" || [[ $1 =~ $only ]] || return 1
    command -v "$2" >/dev/null && return 0
    skip "$1" "$2 is not installed"
    return 1
}

# Runs both ends of PROGRAM on one fabric.
pair() { # NAME PROGRAM ARGUMENT...
    local name=$1
    shift
    have "$name" "$1" && try "$name" "$softhca" "${fabric[@]}" -- "$here/pair.sh" "$@"
}

# As pair, with devices of so many ports at the two ends, on the last of each.
pair_on_ports() { # NAME SERVER'S CLIENT'S PROGRAM ARGUMENT...
    local name=$1 ports=("SERVER_PORTS=$2" "CLIENT_PORTS=$3")
    shift 3
    have "$name" "$1" &&
        try "$name" env "${ports[@]}" "$softhca" "${fabric[@]}" -- "$here/pair.sh" "$@"
}

# As pair, for the pingpong programs, which report a wrong byte and end as if nothing had been.
checked_pair() { # NAME PROGRAM ARGUMENT...
    local name=$1
    shift
    have "$name" "$1" && try "$name" "$softhca" "${fabric[@]}" -- bash -c \
        'out=$("$@" 2>&1); status=$?; echo "$out"; test $status = 0 && [[ $out != *"invalid data"* ]]' \
        checked "$here/pair.sh" "$@"
}

run_launcher() {
    try_script launcher env SOFTHCA_BUILD="$build" "$here/launcher.sh"
}

run_calls() {
    have "calls of libibverbs" nm &&
        try "calls of libibverbs" env SOFTHCA_BUILD="$build" "$here/calls.sh"
}

run_clients() {
    local transfer size
    local TALLY_TIMEOUT=20
    have ibv_devinfo ibv_devinfo && try ibv_devinfo "$softhca" "${fabric[@]}" -- sh -c \
        'ibv_devinfo -v | tee /dev/stderr | grep PORT_ACTIVE'
    for transfer in "" -e "-s 100" "-s 1000000 -n 50" "-r 20 -n 5000" "-m 256"; do
        checked_pair "ibv_rc_pingpong -c${transfer:+ $transfer}" ibv_rc_pingpong -c $transfer
    done
    checked_pair "ibv_srq_pingpong -c" ibv_srq_pingpong -c
    checked_pair "ibv_srq_pingpong -c -e" ibv_srq_pingpong -c -e
    checked_pair "ibv_ud_pingpong -c" ibv_ud_pingpong -c
    checked_pair "ibv_ud_pingpong -c -e" ibv_ud_pingpong -c -e
    for transfer in write read send; do
        for size in 2 4096 65536 1048576; do
            pair "ib_${transfer}_bw $size" "ib_${transfer}_bw" -F -s $size -n 500
        done
        pair "ib_${transfer}_bw, both directions" "ib_${transfer}_bw" -F -b -s 65536 -n 500
        pair "ib_${transfer}_bw, 4 queue pairs" "ib_${transfer}_bw" -F -q 4 -s 65536 -n 500
        pair "ib_${transfer}_bw, plain post_send" "ib_${transfer}_bw" -F --use_old_post_send -n 500
        pair "ib_${transfer}_lat" "ib_${transfer}_lat" -F -n 2000
        pair "ib_${transfer}_lat 64 KB" "ib_${transfer}_lat" -F -s 65536 -n 500
    done
    pair "ib_send_bw, shared receive queue" ib_send_bw -F -q 4 -r 64 --use-srq -n 500
    pair "ib_send_bw, events" ib_send_bw -F -e -n 500
    pair "ib_send_lat, events" ib_send_lat -F -e -n 500
    pair "ib_send_bw, datagrams" ib_send_bw -F -c UD -s 2048 -n 500
    pair "ib_send_lat, datagrams" ib_send_lat -F -c UD -n 500
    pair "ib_atomic_lat, fetch and add" ib_atomic_lat -F -A FETCH_AND_ADD -n 1000
    pair "ib_atomic_lat, compare and swap" ib_atomic_lat -F -A CMP_AND_SWAP -n 1000
    pair "ib_atomic_bw" ib_atomic_bw -F -n 1000
    pair_on_ports "ib_write_bw, port 2" 2 2 ib_write_bw -F -s 65536 -n 500
    pair_on_ports "ib_read_bw, ports 2 and 1" 2 1 ib_read_bw -F -s 65536 -n 500
    pair_on_ports "ib_send_lat, ports 1 and 4" 1 4 ib_send_lat -F -n 500
    pair_on_ports "ib_send_bw, datagrams, ports 3 and 2" 3 2 ib_send_bw -F -c UD -s 2048 -n 500
    pair_on_ports "ibv_rc_pingpong, ports 2 and 1" 2 1 ibv_rc_pingpong
}

run_litmus() {
    try_script litmus env SOFTHCA_BUILD="$build" TALLY_LOGS="$TALLY_LOGS" "$here/litmus.sh" ${only:+--only "$only"}
}

# The average bandwidth that perftest reported last in the log, GB/s.
bandwidth_in() { # LOG
    awk '$1 ~ /^[0-9]+$/ && NF >= 5 { rate = $4 } END { printf "%.4f\n", rate / 8 }' "$1"
}

# One measurement: prints GB/s; both directions and both pairs are summed.
measure() { # alone|both|shared GBPS SIZE LOG [BANDWIDTH]
    local iterations=$(($(printf '%.0f' "${2}e9") / 2 / $3)) network pair first second
    network=(--bandwidth "${5-${2}G}" --latency 2us)
    pair=("$here/pair.sh" ib_write_bw -F --report_gbits -s "$3")
    case $1 in
    alone) "$softhca" "${fabric[@]}" "${network[@]}" -- "${pair[@]}" -n $iterations >"$4" 2>&1 ;;
    both) "$softhca" "${fabric[@]}" "${network[@]}" -- "${pair[@]}" -b -n $iterations >"$4" 2>&1 ;;
    shared)
        "$softhca" "${fabric[@]}" "${network[@]}" -- env SERVER_SIDE=right CLIENT_SIDE=left \
            PAIR_PINNED=yes "${pair[@]}" -D 3 -f 1 >"$4.1" 2>&1 &
        "$softhca" "${fabric[@]}" "${network[@]}" -- env SERVER_SIDE=right CLIENT_SIDE=left \
            PAIR_PINNED=crossed "${pair[@]}" -D 3 -f 1 >"$4" 2>&1
        wait $!
        first=$(bandwidth_in "$4.1")
        second=$(bandwidth_in "$4")
        echo "pairs: $first and $second GB/s" >>"$4"
        awk -v a="$first" -v b="$second" 'BEGIN { print a + b }'
        return
        ;;
    esac
    bandwidth_in "$4"
}

# How busy the processors are with other people's work, in percent, over half a second.
busy() {
    local before after
    read -r before </proc/stat
    sleep 0.5
    read -r after </proc/stat
    echo "$before $after" | awk '{ half = NF / 2; for (i = 2; i <= half; i++) {
            spent = $(i + half) - $i; all += spent; if (i == 5 || i == 6) idle += spent }
        printf "%d\n", all ? 100 * (all - idle) / all : 0 }'
}

# Waits, for up to 20 s, until the machine is quiet; prints how busy it still is.
await_quiet() {
    local taken
    for _ in {1..40}; do
        taken=$(busy)
        test "$taken" -lt 10 && break
    done
    echo "$taken"
}

within_3_percent() { # PERCENT
    awk -v off="$1" 'BEGIN { exit !(off <= 3) }'
}

# Within 3 % of what is configured. The best of three tries counts, since noise only slows down; a
# machine that others keep busy cannot tell, nor one that copies no faster where nothing holds it back.
accurate() { # alone|both|shared GBPS SIZE
    local name="ib_write_bw $3, $2 GB/s, $1" try got off best=100 best_got=none taken unpaced wanted=$2
    have "$name" ib_write_bw || return
    test "$1" = both && wanted=$(awk -v g="$2" 'BEGIN { print 2 * g }')
    for try in 1 2 3; do
        taken=$(await_quiet)
        got=$(export PAIR_PINNED=yes; measure "$1" "$2" "$3" "$(log_of "$name")")
        off=$(awk -v got="${got:-0}" -v wanted="$wanted" 'BEGIN {
            print 100 * (got > wanted ? got / wanted - 1 : 1 - got / wanted) }')
        if awk -v a="$off" -v b="$best" 'BEGIN { exit !(a < b) }'; then
            best=$off
            best_got=$got
        fi
        within_3_percent "$best" && break
        test "$taken" -lt 10 || break
    done
    if within_3_percent "$best"; then
        pass "$name" "$best_got GB/s of $wanted (try $try)"
        return
    elif test "$taken" -ge 10; then
        skip "$name" "$best_got GB/s of $wanted while other work took $taken % of the processors"
        return
    fi
    unpaced=$(export PAIR_PINNED=yes; measure "$1" "$2" "$3" "$(log_of "$name unpaced")" 0)
    if awk -v got="${unpaced:-0}" -v wanted="$wanted" 'BEGIN { exit !(got < 1.1 * wanted) }'; then
        skip "$name" "$best_got GB/s of $wanted, and unpaced $unpaced: the machine copies no faster now"
    else
        fail "$name" "$best_got GB/s of $wanted, $best % off"
        show_log "$name" 8
    fi
}

run_accuracy() {
    local way rate size
    for way in alone both shared; do
        for rate in 1.4 3 4; do
            for size in 65536 1048576 4194304; do
                # Quick: one point a way.
                test $quick = yes && test $rate-$size != 1.4-1048576 && continue
                accurate $way $rate $size
            done
        done
    done
}

test -x "$softhca" || { echo "$softhca is not built" >&2; exit 2; }
for stage in "${stages[@]}"; do
    "run_$stage"
done
tally
