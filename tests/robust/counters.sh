#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Jobs that are judged by their data and by the counters that they report at the end. To be sourced behind
# common.sh, with `subject` set, which begins the name of each check.

# The sum of a counter over the ranks of the last job.
counted() { # COUNTER
    sed -n "s/^rbuf-report:.* $1=\([0-9]*\).*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'
}

# A claim is COUNTER=N, COUNTER>N or COUNTER<N.
wrong_counters() { # CLAIM...
    local claim name value
    for claim in "$@"; do
        name=${claim%%[=<>]*}
        value=$(counted "$name")
        case $claim in
        *=*) [ "$value" -eq "${claim#*=}" ] ;;
        *\>*) [ "$value" -gt "${claim#*>}" ] ;;
        *) [ "$value" -lt "${claim#*<}" ] ;;
        esac || echo "$name is $value: not $claim"
    done
}

# right NAME CLAIMS RANKS PROGRAM [ARGUMENT...]: the data is right, and the claims hold. `shown` is the
# counter that is printed.
right() {
    local name="$subject: $1" claims=$2 ranks=$3 wrong of=("${mpi[@]}")
    mpi+=(--mca btl_rbuf_report 2)
    job "$name" 90 "$ranks" "${@:4}"
    mpi=("${of[@]}")
    wrong=$(wrong_success)
    [ -n "$wrong" ] || grep -q -E '^[1-9][0-9]* checks, 0 wrong$' "$log" || wrong="no data was checked"
    # shellcheck disable=SC2086 # the claims are words
    [ -n "$wrong" ] || wrong=$(wrong_counters $claims)
    verdict "$name" "$wrong" "$shown=$(counted "$shown"), $took s"
}

# Sets the parameters given as NAME=VALUE for the next jobs.
with() {
    local setting
    mpi=()
    for setting in "$@"; do
        mpi+=(--mca "btl_rbuf_${setting%%=*}" "${setting#*=}")
    done
}

unlike() { # CLAIMS NAME=VALUE...: of odd ranks
    local claims=$1
    shift
    right "odd ranks have $*, the others ${mpi[*]}" "$claims" 2 "$mpi_tests/unlike" "$@"
}
