#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs programs that were not written for rbuf over it; ends with the line "N passed, N failed, N skipped".
#
#   run.sh [--all] [NAME...]   names without .sh; all by default
#
# Environment: RBUF_BUILD, RBUF_COMPONENT_DIR, SOFTHCA and the rest, as common.sh has them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
all_names="netpipe hpcc lammps scalapack mpich mpi4py ucx global_arrays nwchem coarrays star_forest"
# shellcheck source=tests/named.sh
. "$here/../named.sh"
named_choose "$@"
export PROGRAMS_ALL=$named_all
: "${RBUF_BUILD:?names the build directory}"
if [ -f "$RBUF_BUILD/tests/mpi/Makefile" ]; then
    make -C "$RBUF_BUILD/tests/mpi" check TESTS= >/dev/null || exit 1
fi
named_run
