#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# That verbs_costs measures all it has on an adapter, InfiniBand and RoCE; how long anything takes is not looked
# at. RBUF_BUILD names the build directory, whose emulated adapter it is. Exit status: 0, 1, or 77 without one.
set -u
build=${RBUF_BUILD:-$(cd "$(dirname "$0")/../.." && pwd)}
softhca=$build/contrib/softhca/softhca
[ -x "$softhca" ] || {
    echo "softhca is not built"
    exit 77
}
export SOFTHCA_LIB=${SOFTHCA_LIB:-$build/contrib/softhca/.libs/libsofthca.so}
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0

# Each of five ways by six sizes, and both polls by three numbers of connections.
for link in ib roce; do
    found=$("$softhca" --devices "softhca0/link=$link" --fabric "verbs-$$" -- "$build/tests/cost/verbs_costs" 1 3) || {
        echo "$link: $found"
        exit 1
    }
    rows=$(awk -F, 'NF == 5 && $4 == 1 && $5 > 0 { ways[$1]++ } END { for (way in ways) print way, ways[way] }' \
        <<<"$found" | sort | paste -sd ,)
    echo "$link: $rows"
    [ "$rows" = "gathered-write 6,poll-memory 3,poll-queue 3,send 6,two-writes 6,write 6,write-immediate 6" ] || {
        echo "$found"
        exit 1
    }
done
