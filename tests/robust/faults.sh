#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What an adapter may do, by faults.table, and peers that are killed. Disorder must be seen where
# blocks are taken early, or the check of it is worth nothing.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
# shellcheck source=tests/robust/table.sh
. "$here/table.sh"

# --- order ---

ordered() { # FAULT off|checked PROTOCOL PROGRAM [ARGUMENT...]: data are right
    local name="$1, subblock $2, $3, $4"
    hca=(--fault "$1")
    mpi=(--mca btl_rbuf_protocol "$3" --mca btl_rbuf_subblock "$2")
    job "$name" 90 2 "$mpi_tests/$4" "${@:5}"
    verdict "$name" "$(wrong_success)" "$took s"
}

# What the adapter says of its order decides, is told, and where it promises none the data is right
# whatever the order.
answers() { # on|off TEXT
    local name="subblock auto, data in order $1" fault= wrong
    test "$1" = off && fault=order=random
    hca=(--data-in-order "$1" ${fault:+--fault "$fault"})
    mpi=(--mca btl_base_verbose 10)
    job "$name" 60 2 "$mpi_tests/window" 24
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(lines_with "rbuf: port .*blocks $2")" = 2 ] ||
        wrong="not told by both ranks: $2"
    verdict "$name" "$wrong" "${2//\\/}"
}

# With blocks taken early the programs find wrong bytes, some time: it is a race of the receiver's
# looks with the adapter's pieces, and the next try may win what this one lost. Without eager rings: of
# these the envelope may be wrong, too, and that ends a program before it finds anything.
seen() { # FAULT PROTOCOL
    local name="$1, subblock on, $2, is seen" wrong program tries=0
    hca=(--fault "$1")
    mpi=(--mca btl_rbuf_protocol "$2" --mca btl_rbuf_subblock on --mca btl_rbuf_polling_set 0)
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

# The user says that there is order, and a test at start sees that there is none. That is a race, too: the
# process that looks is not bound to the core of the one that places.
refuted() {
    local name="subblock on is refuted at start" wrong tries=0
    hca=(--fault order=tail-first)
    mpi=(--bind-to none --mca btl_rbuf_subblock on --mca btl_base_verbose 10)
    while [ $tries -lt 8 ]; do
        tries=$((tries + 1))
        job "$name" 60 2 "$mpi_tests/finalize" nothing
        wrong=$(wrong_success)
        [ -z "$wrong" ] || break
        wrong="the text, or what is used instead, is not there"
        grep -q '^Parameter btl_rbuf_subblock is on, but' "$log" &&
            grep -q 'rbuf: port .*blocks taken when their checksum is right (the last word' "$log" && wrong= && break
    done
    verdict "$name" "$wrong" "try $tries"
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

job_of_killed() { # NAME PROGRAM RANKS
    # shellcheck disable=SC2086 # the program is words
    job "$1" 40 "$3" "$robust_tests/"$2
    since=$(seconds_since_death)
    wrong=$(wrong_end)
}

killed() { # PROGRAM RANKS: rank 1 is killed, and the others are left to themselves by mpirun
    local name="peer killed: $1, $2 ranks" wrong
    hca=()
    mpi=(--enable-recovery)
    until_told job_of_killed "$name" "$1" "$2"
    verdict "$name" "$wrong" "all ended ${since:-?} s after it"
}

calibrate
check_table "${FAULTS:-.}"
settings="two-slots one-place tight reuse"
[ "$robust_all" = no ] || settings=$ring_settings
for setting in $settings; do
    check_table "${FAULTS:-.}" "$setting"
done
seen order=tail-first pipeline
seen order=random superpipeline
if [ "$robust_all" = yes ]; then
    for program in pingpong order many_to_one storm collectives threads onesided; do
        for protocol in superpipeline pipeline copy register rcache; do
            ordered order=random,seed=7 off $protocol $program
            ordered order=words,seed=8 checked $protocol $program
        done
    done
fi
answers on 'taken as they arrive \(the adapter says so'
answers off 'taken when their checksum is right \(the adapter does not promise order'
refuted
killed waiting 2
killed waiting 4
killed connecting 2
killed connecting 4
for flow in both to from; do
    killed "flowing $flow" 2
    killed "flowing $flow" 4
done
for epoch in fence "fence packed" group "group packed" lock lock_all; do
    killed "deserting $epoch" 3
done
tally
