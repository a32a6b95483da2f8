#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Global Arrays, as Debian builds it upon ARMCI-MPI: its patches, sums, counters and mutexes are one-sided operations
# of MPI under lock_all. global_arrays.c uses them on 2 ranks, and compares each result.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands "Global Arrays" mpicc ga-config

wrong_arrays() {
    wrong_end | grep . || grep -q 'checks, no errors' "$log" || grep -m 1 '^global_arrays:' "$log" || echo "no output"
}

if ! build_with_mix global_arrays; then
    skip "Global Arrays" "cannot be built: $(grep -m 1 -i error "$log")"
    tally
    exit
fi
with_windows "Global Arrays" wrong_arrays 120 2 "$work/global_arrays"
tally
