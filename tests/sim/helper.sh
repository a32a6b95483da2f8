#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates the helper that registers by prediction, beside its rivals and beside its paper's figures, and
# compares what it finds with golden/helper.csv and golden/helper_paper.csv, to the nanosecond.
#
#   helper.sh [--update]
#
# --update writes the golden files anew. Exit status: 0; 1 if something differs or does not hold.

here=$(cd "$(dirname "$0")" && pwd)
update=$1
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
status=0

# check PROGRAM PART...
check() {
    local golden=$here/golden/$1.csv part

    : >"$out"
    for part in "${@:2}"; do
        ./"$1" "$part" >>"$out" || status=1
    done
    grep ',FAILS$' "$out"
    if test "$update" = --update; then
        cp "$out" "$golden" || status=1
    elif ! diff -U 0 "$golden" "$out"; then
        echo "differs from $golden (helper.sh --update takes it over)"
        status=1
    fi
}

check helper sequences predictions statements
check helper_paper programs predictors helpers statements
exit $status
