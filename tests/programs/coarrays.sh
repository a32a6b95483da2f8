#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# OpenCoarrays: coarrays of gfortran by windows of MPI. coarrays.f90 puts and gets sections, posts events, uses
# atomic subroutines, locks and collective ones on 2 images, and compares each result.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands OpenCoarrays mpicc caf

build_or_skip OpenCoarrays coarrays
with_windows OpenCoarrays wrong_checked 120 2 "$work/coarrays"
tally
