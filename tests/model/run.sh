#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Checks the models of eager rings, of early data and of placement in every interleaving, and that each
# way of breaking them is found. Exit status 77 without spin.
#
#   tests/model/run.sh [--all]
#
# --all has placement with one more write.

set -u
case "$*" in
"") writes=4 early_writes=3 ;;
--all) writes=5 early_writes=4 ;;
*)
    echo "usage: run.sh [--all]" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
command -v spin >/dev/null || {
    echo "spin is not installed"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# check NAME MODEL DEFINE...: the number of errors that the checker finds, at most one, in NAME's
# folder; two of them at a time
check()
{
    while (($(jobs -pr | wc -l) >= 2)); do
        wait -n
    done
    run_checker "$@" &
}

run_checker()
{
    local folder=$work/$1
    local model=$2
    shift 2
    mkdir "$folder" && cd "$folder" && spin "$@" -a "$here/$model.pml" >spin.log 2>&1 &&
        gcc "$optimize" -DSAFETY -DMEMLIM=450 -DCOLLAPSE -o pan pan.c >gcc.log 2>&1 &&
        ./pan -m20000 -w22 >pan.log 2>&1
    sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log >found
}

holds() # NAME: its model has no error, and all of its states were seen
{
    local folder=$work/$1
    if [ "$(cat "$folder/found")" != 0 ] ||
        grep -q 'search depth too small\|out of memory\|memory limit' "$folder/pan.log"; then
        cat "$folder"/*.log
        echo "the model of $1 breaks what it promises"
        exit 1
    fi
    echo "the model of $1 holds in all of its $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' \
        "$folder/pan.log") states"
}

stale="-DNO_DEFER -DNO_SHORT -DSOURCES=1"
others="-DNO_DEFER -DNO_SHORT -DNO_END -DNO_PLACE"
deferred="-DMESSAGES=2 -DONE_SIDED"
recalled="-DMESSAGES=2 -DRECALLS=1 -DNO_DEFER"

# Of placement.
lanes="-DWRITES=$writes"
lanes_completed="-DWRITES=$writes -DCOMPLETED"
lanes_plain="-DWRITES=$writes -DPLAIN"
slots="-DWRITES=$writes -DRING"
slots_completed="-DWRITES=$writes -DRING -DCOMPLETED"
slots_plain="-DWRITES=$writes -DRING -DPLAIN"
early_slots="-DWRITES=$early_writes -DEARLY"
early_slots_plain="-DWRITES=$early_writes -DEARLY -DPLAIN"
placement="lanes lanes_completed lanes_plain slots slots_completed slots_plain early_slots early_slots_plain"

optimize=-O1
check rings ring
check counts ring -DCOUNTS
for part in stale others deferred recalled; do
    check "$part" early ${!part}
done
for part in $placement; do
    check "$part" placement ${!part}
done

optimize=-O0 # an error is found sooner than the checker is optimized
mistakes=
# must_find MODEL "DEFINES" MISTAKE...
must_find()
{
    local model=$1 defines=$2 mistake
    shift 2
    for mistake in "$@"; do
        check "$mistake" "$model" $defines "-D$mistake"
        mistakes+=" $mistake"
    done
}
must_find ring "" WORD_FIRST EARLY_CREDIT NO_DRAIN BACK_AT_ONCE ANSWER_TWICE SLOTS_EARLY ANY_BACK
must_find ring -DCOUNTS BULK_COUNTS SHORT_MAILBOX FAR_MAILBOX
must_find early "$stale" OLDEST NO_LATER NOT_PASSED_ON OLD_TOKEN NAME_FIRST
must_find early "$others" UNRELEASED NO_SEQ RELEASE_CLAIMED
must_find early "$deferred" NO_CORRECTION OLD_RTR FORGET_ONE
must_find early "$recalled" RETURN_AT_ONCE
must_find placement "-DPLAIN" UNORDERED
must_find placement "" FLAG_ALONE NO_PADDING ACKNOWLEDGED FILL_LATE FIRST_FULL ACK_FIRST TWO_AT_ONCE
must_find placement "-DRING" CREDIT_FIRST
must_find placement "-DCOMPLETED" NO_USE
must_find placement "-DEARLY" UNDER_WAY RELEASED
wait

for part in rings counts stale others deferred recalled $placement; do
    holds "$part"
done
for mistake in $mistakes; do
    if [ "$(cat "$work/$mistake/found")" != 1 ]; then
        echo "$mistake is not found"
        exit 1
    fi
    echo "$mistake is found"
done
