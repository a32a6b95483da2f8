#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Checks the model of eager rings in every interleaving, and that each way of breaking it is found.
# Exit status 77 without spin.

set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v spin >/dev/null || {
    echo "spin is not installed"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# check NAME DEFINE...: the number of errors that the checker finds, at most one, in NAME's folder
check()
{
    local folder=$work/$1
    shift
    mkdir "$folder" && cd "$folder" && spin "$@" -a "$here/ring.pml" >spin.log 2>&1 &&
        gcc -O1 -DSAFETY -DMEMLIM=2000 -DCOLLAPSE -o pan pan.c >gcc.log 2>&1 &&
        ./pan -m1000000 >pan.log 2>&1
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

check rings &
check counts -DCOUNTS &
wait
holds rings
holds counts
mistakes="WORD_FIRST EARLY_CREDIT NO_DRAIN BACK_AT_ONCE ANSWER_TWICE SLOTS_EARLY ANY_BACK"
mistakes_of_counts="HEAR_BULK SHORT_MAILBOX FAR_MAILBOX"
for mistake in $mistakes; do
    (check "$mistake" "-D$mistake") &
    (($(jobs -pr | wc -l) < 2)) || wait -n
done
for mistake in $mistakes_of_counts; do
    (check "$mistake" -DCOUNTS "-D$mistake") &
    (($(jobs -pr | wc -l) < 2)) || wait -n
done
wait
for mistake in $mistakes $mistakes_of_counts; do
    if [ "$(cat "$work/$mistake/found")" != 1 ]; then
        echo "$mistake is not found"
        exit 1
    fi
    echo "$mistake is found"
done
