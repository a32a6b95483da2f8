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
names=()
export PROGRAMS_ALL=no
while [ $# -gt 0 ]; do
    case $1 in
    --all) PROGRAMS_ALL=yes ;;
    *)
        if [[ " $all_names " != *" $1 "* ]]; then
            echo "usage: run.sh [--all] [NAME...]; names: $all_names" >&2
            exit 2
        fi
        names+=("$1")
        ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || read -ra names <<<"$all_names"
: "${RBUF_BUILD:?names the build directory}"
if [ -f "$RBUF_BUILD/tests/mpi/Makefile" ]; then
    make -C "$RBUF_BUILD/tests/mpi" check TESTS= >/dev/null || exit 1
fi

# shellcheck source=tests/tally.sh
. "$here/../tally.sh"
for name in "${names[@]}"; do
    started=$SECONDS
    echo "-- $name"
    try_script "$name" "$here/$name.sh"
    echo "-- $name took $((SECONDS - started)) s"
done
tally
