#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# An adapter that places the bytes of a write out of order, queue pairs that break, peers that die.
# The first must not matter where blocks are not taken early (and must be seen where they are, or
# the check is worth nothing); the others end in an error that names the peer, soon, at every rank.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

# --- order ---

ordered() { # FAULT PROTOCOL PROGRAM [ARGUMENT...]: data are right
    local name="$1, subblock off, $2, $3"
    hca=(--fault "$1")
    mpi=(--mca btl_rbuf_protocol "$2" --mca btl_rbuf_subblock off)
    job "$name" 90 2 "$mpi_tests/$3" "${@:4}"
    verdict "$name" "$(wrong_success)" "$took s"
}

# With blocks taken early the programs find wrong bytes, some time: it is a race of the receiver's
# looks with the adapter's pieces, and the next try may win what this one lost.
seen() { # FAULT PROTOCOL
    local name="$1, subblock on, $2, is seen" wrong program tries=0
    hca=(--fault "$1")
    mpi=(--mca btl_rbuf_protocol "$2" --mca btl_rbuf_subblock on)
    while [ $tries -lt 8 ]; do
        tries=$((tries + 1))
        wrong="no wrong byte was found: the fault or the check does nothing"
        for program in order many_to_one "window 24"; do
            # shellcheck disable=SC2086 # the program is words
            job "$name" 40 2 "$mpi_tests/"$program
            wrong_crash | grep . && break 2
            grep -q '^wrong: .*wrong at or behind byte' "$log" && wrong= && break 2
        done
    done
    verdict "$name" "$wrong" "try $tries"
}

# --- queue pairs ---

# Every rank says which peer it has lost; mpirun is told to leave them alone and to merge nothing.
wrong_errors() { # SECONDS
    local rank
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif awk "BEGIN { exit !($took > $1) }"; then
        echo "ended only after $took s"
    else
        for rank in 0 1; do
            grep -q -E "^  Peer: +\[\[[0-9]+,1\],$rank\]" "$log" || echo "nobody says that rank $rank is lost"
        done
    fi
}

broken() { # PROTOCOL REQUESTS: each queue pair fails at that request
    local name="qp-error=$2, $1" wrong tries=0
    hca=(--fault "qp-error=$2")
    mpi=(--mca btl_rbuf_protocol "$1")
    job "$name" 40 2 "$mpi_tests/window" 24
    verdict "$name" "$(wrong_failure 15)" "$took s"
    mpi+=(--enable-recovery --mca orte_base_help_aggregate 0)
    while :; do
        job "$name, every rank" 40 2 "$mpi_tests/window" 24
        wrong=$(wrong_errors 15)
        tries=$((tries + 1))
        [ -n "$wrong" ] && [ $tries -lt 5 ] && lost_by_mpirun || break
    done
    verdict "$name, every rank" "$wrong" "$took s"
}

# --- peers ---

# Seconds from the victim's death, as it wrote it, until the end of the job; nothing if it lives.
seconds_since_death() {
    sed -n 's/.*victim: killed at \([0-9.]*\).*/\1/p' "$log" |
        awk -v now="$(date +%s.%N)" 'NR == 1 { printf "%.1f", now - $1 }'
}

wrong_end() {
    wrong_crash && return
    if [ -z "$since" ]; then
        echo "status $status before the rank was killed"
    elif [ "$status" = 124 ] || awk "BEGIN { exit !($since > 10) }"; then
        echo "lived on for $since s"
    elif grep '^wrong' "$log"; then
        :
    elif ! grep -q -E '^The rbuf transport (lost a peer|could not connect to a peer)' "$log" ||
        ! grep -q -E '^  Peer: +\[\[[0-9]+,1\],1\]' "$log"; then
        echo "the lost peer is not named"
    fi
}

killed() { # PROGRAM RANKS: rank 1 is killed, and the others are left to themselves by mpirun
    local name="peer killed: $1, $2 ranks" tries=0 wrong
    hca=()
    mpi=(--enable-recovery)
    while :; do
        job "$name" 40 "$2" "$robust_tests/$1"
        since=$(seconds_since_death)
        wrong=$(wrong_end)
        tries=$((tries + 1))
        [ -n "$wrong" ] && [ $tries -lt 5 ] && lost_by_mpirun || break
    done
    verdict "$name" "$wrong" "all ended ${since:-?} s after it"
}

for protocol in superpipeline pipeline copy; do
    ordered order=tail-first $protocol window 24
    ordered order=random $protocol window 24
done
ordered order=random superpipeline storm 64 20000 4
seen order=tail-first pipeline
seen order=random superpipeline
if [ "$robust_all" = yes ]; then
    for protocol in superpipeline pipeline copy register rcache; do
        for program in pingpong order many_to_one storm collectives threads onesided; do
            ordered order=random,seed=7 $protocol $program
        done
    done
fi

broken superpipeline 3
broken superpipeline 100
broken register 20
if [ "$robust_all" = yes ]; then
    for requests in 1 2 4 5 7 11 16 25 40 60 90 130 200 300; do
        for protocol in superpipeline pipeline copy register rcache; do
            broken $protocol $requests
        done
    done
fi

killed waiting 2
killed waiting 4
killed connecting 2
killed connecting 4
tally
