# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# For scripts that compare what a simulating program prints with a golden file; they are given
# --update to write these anew. `status` is 1 if something differed or did not hold.

here=$(cd "$(dirname "$0")" && pwd)
update=${1-}
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
status=0

# needs FEATURE: ends the script, as skipped, where the build leaves that out.
needs() {
    if [[ " ${RBUF_LEFT_OUT-} " == *" $1 "* ]]; then
        echo "this build leaves $1 out"
        exit 77
    fi
}

# check PROGRAM PART...: with golden/PROGRAM.csv
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
        echo "differs from $golden (${0##*/} --update takes it over)"
        status=1
    fi
}
