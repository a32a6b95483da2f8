#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The names of both components' functions and variables. Where Open MPI's libraries are static, neither
# -fvisibility=hidden nor a DSO keeps them apart from those of the program, and of two that are the same the linker takes
# the first. So each begins with its component's name, and none is in both. What osc/rbuf takes from btl/rbuf is
# compiled once.
#
#   names.sh [OBJECTS-OF-BTL OBJECTS-OF-OSC]

test "${RBUF_SANITIZED:-no}" = yes && exit 77
btl=${1:-$OBJECTS} osc=${2:-$OSC_OBJECTS}

# NM may be a command with options.
names() { # FOLDER
    find "$1" -name '*.o' -path '*/.libs/*' -exec ${NM:-nm} -g --defined-only {} + |
        sed -n 's/^[0-9a-f]* *[A-Z] //p' | sort
}

check() { # FOLDER PATTERN
    all=$(names "$1")
    test "$(echo "$all" | wc -l)" -ge 20 || { echo "$1 has no objects of the component"; exit 99; }
    other=$(echo "$all" | grep -v -E "$2")
    test -z "$other" || { echo "not ours by their name, in $1:" $other; exit 1; }
}

check "$btl" '^(mca_btl_rbuf|rbuf)_'
check "$osc" '^(mca_osc_rbuf|osc_rbuf)_'
both=$( (names "$btl" | uniq; names "$osc" | uniq) | sort | uniq -d)
test -z "$both" || { echo "in both components:" $both; exit 1; }
