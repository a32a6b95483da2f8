#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates the helper that registers by prediction, beside its rivals, and compares what it finds with
# golden/helper.csv, to the nanosecond.
#
#   helper.sh [--update]
#
# --update writes the golden file anew. Exit status: 0; 1 if something differs or does not hold.

golden=$(cd "$(dirname "$0")" && pwd)/golden/helper.csv
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
status=0
for part in sequences predictions statements; do
    ./helper $part >>"$out" || status=1
done
grep ',FAILS$' "$out"
if test "$1" = --update; then
    cp "$out" "$golden" || status=1
elif ! diff -U 0 "$golden" "$out"; then
    echo "differs from $golden (helper.sh --update takes it over)"
    status=1
fi
exit $status
