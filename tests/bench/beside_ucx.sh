#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests contrib/beside_ucx.sh without a chroot: what it refuses, and by a stand-in for rbuf-compare how it makes one file
# of the rounds of all groups, and that a transport which was not measured is a failure.

here=$(cd "$(dirname "$0")" && pwd)
beside=$here/../../contrib/beside_ucx.sh
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

refuses() { # OPTION...
    local status=0
    "$beside" --build "$work/build" "$@" >"$work/out" 2>&1 || status=$?
    cat "$work/out"
    test $status -eq 2 && grep -q -- '--help explains' "$work/out" && test ! -e "$work/build"
}
for wrong in "--suite bookworm" "--rounds 0" "--handover 20" "--transports a;b" "--ucx $work/none" "--suite" "fast"; do
    # shellcheck disable=SC2086 # an option and its value
    try "refused: ${wrong//$work\//}" refuses $wrong
done

# Appends a line for each transport that WITHOUT does not name, and notes how it was called.
mkdir -p "$work/rbuf/bin"
cat >"$work/rbuf/bin/rbuf-compare" <<'END'
#!/bin/bash
echo "$*" >>"$CALLS"
while test $# -gt 0; do
    case $1 in
    --csv) csv=$2 ;;
    --transports) transports=$2 ;;
    --sizes) size=${2%%,*} ;;
    --report) exit 0 ;;
    esac
    shift
done
test -s "$csv" || echo fabric,hosts,round,transport,size >"$csv"
for name in ${transports//,/ }; do
    test "$name" = "${WITHOUT-}" || echo "f,h,1,$name,$size" >>"$csv"
done
END
chmod +x "$work/rbuf/bin/rbuf-compare"

measure() { # ROUNDS QUICK
    : >"$work/calls"
    BESIDE_UCX_KEPT=$work CALLS=$work/calls PROFILE=graphene TRANSPORTS=superpipeline,ucx HANDOVER=20:160 \
        ROUNDS=$1 QUICK=$2 "$beside" --inside measure
}

two_rounds() {
    measure 2 no && cat "$work/calls" "$work/all.csv" || return
    test "$(grep -c -- '--rounds 1 .*--add --handover 20:160' "$work/calls")" -eq 8 &&
        test "$(grep -c ^fabric "$work/all.csv")" -eq 1 && test "$(grep -c ^f,h "$work/all.csv")" -eq 16
}

quickly() {
    measure 2 yes && cat "$work/calls" "$work/all.csv" || return
    test "$(grep -c -- '--no-probe' "$work/calls")" -eq 4 && test "$(grep -c ^f,h "$work/all.csv")" -eq 8
}

fails_without() { # TRANSPORT
    local status=0
    WITHOUT=$1 measure 1 no >"$work/out" 2>&1 || status=$?
    cat "$work/out"
    test $status -eq 1 && grep -q "^$1 was not measured" "$work/out"
}
try "two rounds" two_rounds
try "one round, and no wait for a quiet machine" quickly
try "UCX is not measured" fails_without ucx
try "rbuf is not measured" fails_without superpipeline
tally
