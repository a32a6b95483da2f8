#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Lays the traces of two processes side by side, in the order of time, so that one sees where a transfer is
# stuck (opal/mca/btl/rbuf/core/base/trace.h).
#
#   contrib/trace_pair.sh [--id HEX] LEFT RIGHT
#
# LEFT and RIGHT are files that a component wrote which was configured with --enable-trace:
#
#   RBUF_TRACE=/tmp/trace mpirun -x RBUF_TRACE ... ; contrib/trace_pair.sh /tmp/trace.*
#
# Each line has the microseconds since the first one, and what happened, at its own side. A put of the one
# and the grant of the other that it writes for have the same id. --id shows what has that id alone. At the
# end stand those whose last state is not their end. Both processes must be of one machine: the clock is its.

set -u
id=
if [ "${1-}" = --id ]; then
    id=${2:?--id wants an id}
    shift 2
fi
if [ $# -ne 2 ] || [ ! -r "$1" ] || [ ! -r "$2" ]; then
    sed -n '4,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
{
    sed 's/^/L /' "$1"
    sed 's/^/R /' "$2"
} | sort -k2,2n -s | awk -v id="$id" '
    id != "" && $5 != "id=" id { next }
    first == "" { first = $2 }
    {
        what = $3 " " $4 " " $5 ": " $6 " -> " $8
        key = $1 " " $3 " " $4 " " $5
        last[key] = $8
        printf "%12.1f  %-48s%s\n", ($2 - first) / 1000, $1 == "L" ? what : "", $1 == "R" ? what : ""
    }
    END {
        for (key in last)
            if (last[key] !~ /^(FREE|DONE|ENDED|CONNECTED|FAILED|WRITTEN|TAKEN|DROPPED)$/)
                print "not at its end: " key ": " last[key] | "sort"
    }'
