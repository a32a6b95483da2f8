#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Counts the instructions that core spends on small messages, on polling rings and on the order of puts, and holds
# them against what was promised. Instructions, not time: no other load changes them.
#
#   cost.sh [PROGRAM]    message_cost of this folder by default
#
# Exit status 77 without valgrind, or with a sanitized build.

set -u
program=${1:-./message_cost}
[ "${RBUF_SANITIZED-}" != yes ] || {
    echo "a sanitized build says nothing of cost"
    exit 77
}
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

instructions() { # ARGUMENT...: of the whole program
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$log"
}

per_unit() { # UNITS ARGUMENT...: what one more of COUNT costs; the last argument is the count
    local units=$1 more less
    shift
    less=$(instructions "$@" 4096) && more=$(instructions "$@" 8192) || exit 1
    echo $(((more - less) / 4096 / units))
}

failed=0
check() { # WHAT FOUND MOST
    if [ "$2" -le "$3" ]; then
        echo "$1: $2 instructions (at most $3)"
    else
        echo "$1: $2 instructions, more than $3"
        failed=1
    fi
}

ring=$(per_unit 1 ring) && send=$(per_unit 1 send) && poll=$(per_unit 16 poll 16) && puts=$(per_unit 64 puts) ||
    exit 1
check "an 8-byte message by a ring, both sides" "$ring" 366
check "the same over send/receive" "$send" 384
check "polling an idle ring" "$poll" 12
check "a put of a list of 64, arranged" "$puts" 10
exit $failed
