#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Litmus tests: raw verbs that two processes call on the emulated adapter, and what must come of them.
#
#   tests/litmus.sh [--only REGEX]
#
# --only runs just the programs whose names here match. SOFTHCA_BUILD is softhca's build directory, by
# default its source's; SOFTHCA_SANITIZED says that it is built with sanitizers, so that what a registration
# takes is not compared with the settings. The last line counts.

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${SOFTHCA_BUILD:-$here/..}" && pwd) || exit 99
softhca=$build/softhca
only=
if test "${1-}" = --only; then
    only=${2:?--only wants a regular expression}
    shift 2
fi
test $# -eq 0 || { echo "usage: litmus.sh [--only REGEX]" >&2; exit 99; }
TALLY_LOGS=${TALLY_LOGS:-$build/logs}
mkdir -p "$TALLY_LOGS" || exit 99
# shellcheck source=contrib/softhca/tests/tally.sh
. "$here/tally.sh"

# A fabric of our own, so that other users of the machine do not share the links.
fabric=(--fabric "litmus-$$")
# What a program that was killed may have kept a launcher from removing.
trap 'rm -f "/dev/shm/softhca-$(id -u)-litmus-$$-"*' EXIT

# The library's own tests print a line of TAP each; one that the settings rule out does not count.
litmus() { # NAME OPTION-OF-SOFTHCA...
    local name=$1 program=$build/tests/${litmus_program:-litmus} status=0 line
    shift
    test -z "$only" || [[ $name =~ $only ]] || return
    if ! test -x "$program"; then
        skip "$name" "make check builds it"
        return
    fi
    timeout -k 5 "$(patience_for 180)" "$softhca" "${fabric[@]}" "$@" -- "$program" >"$(log_of "$name")" 2>&1 || status=$?
    while read -r line; do
        case $line in
        ok*"# SKIP no "*) ;;
        ok*"# SKIP "*) skip "$name: ${line#ok * - }" "${line##*# SKIP }" ;;
        ok*) pass "$name: ${line#ok * - }" ;;
        "not ok"*) fail "$name: ${line#not ok * - }" ;;
        esac
    done < <(grep -E '^(not )?ok ' "$(log_of "$name")")
    test $status -eq 0 && return
    test $status -le 1 || fail "$name" "ended with status $status"
    show_log "$name" 40
}

# With --verbose each request that a peer's memory refused is told with the reason.
says_why() { # NAME, of a litmus with --verbose
    local why log
    test -z "$only" || [[ $1 =~ $only ]] || return
    log=$(log_of "$1")
    for why in "a write of 8 bytes at .*: the key is of no registration" \
        "a write of 8 bytes at .*: the key is of another protection domain" \
        "a write of 8 bytes at .*: the registration has access" \
        "a write of 8 bytes at .*: the registration is of [0-9]* bytes" \
        "a read of 16 bytes at .*: the registration is of [0-9]* bytes"; do
        try "$1: says why: ${why/ at .\*/}" grep "$why" "$log"
    done
}

test -x "$softhca" || { echo "$softhca is not built" >&2; exit 99; }
costs=(--reg "68us,200ns" --dereg "20us,100ns")
test -z "${SOFTHCA_SANITIZED-}" || costs=()
# softhca's library is preloaded, so that a sanitizer's does not come first. It is none the worse. The programs
# leave what they have to the end of their process.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0:detect_leaks=0
litmus "litmus, paced" --verbose --bandwidth 1G --latency 5us --memlock 64M "${costs[@]}"
says_why "litmus, paced"
litmus_program=litmus_faults litmus "faults"
litmus_program=litmus_order litmus "order"
litmus_program=litmus_devices litmus "devices"
SOFTHCA_SHARE_PAGES=0 litmus "litmus, private pages" --bandwidth 1G --latency 5us --memlock 64M
litmus "litmus, unpaced"
tally
