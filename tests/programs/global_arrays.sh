#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Global Arrays, as Debian builds it upon ARMCI-MPI: its patches, sums, counters and mutexes are one-sided operations
# of MPI under lock_all. global_arrays.c uses them on 2 ranks, and compares each result.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands "Global Arrays" mpicc ga-config

build_or_skip "Global Arrays" global_arrays
with_windows "Global Arrays" wrong_checked 120 2 "$work/global_arrays"
tally
