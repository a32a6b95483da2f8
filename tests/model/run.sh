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

errors_of() { # DEFINE...: the number of errors that the checker finds, at most one
    rm -rf "$work/pan" && mkdir "$work/pan" && cd "$work/pan" &&
        spin "$@" -a "$here/ring.pml" >spin.log 2>&1 &&
        gcc -O1 -DSAFETY -DMEMLIM=2000 -DCOLLAPSE -o pan pan.c >gcc.log 2>&1 &&
        ./pan -m1000000 >pan.log 2>&1
    sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log
}

found=$(errors_of)
states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$work/pan/pan.log")
if [ "$found" != 0 ] || grep -q 'search depth too small\|out of memory' "$work/pan/pan.log"; then
    cat "$work"/pan/*.log
    echo "the model breaks what it promises"
    exit 1
fi
echo "the model holds in all of its ${states:-?} states"
for mistake in WORD_FIRST EARLY_CREDIT NO_DRAIN BACK_AT_ONCE; do
    if [ "$(errors_of -D$mistake)" != 1 ]; then
        echo "$mistake is not found"
        exit 1
    fi
    echo "$mistake is found"
done
