#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# PETSc's star forests by windows, with each way to synchronise that it has: star_forest.c broadcasts, reduces and
# fetches by a reversed list on 2 ranks, and compares each result. Of the windows' flavors Debian's PETSc 3.18 has
# "create", and "shared", which is for one node.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands PETSc mpicc pkg-config

build_or_skip PETSc star_forest
roots=500
[ "$programs_all" = no ] || roots=20000
for synchronisation in fence active lock; do
    with_windows "PETSc $synchronisation" wrong_checked 120 2 "$work/star_forest" -roots $roots \
        -sf_type window -sf_window_flavor create -sf_window_sync $synchronisation
    # Not our windows: they are those of osc/sm, and rbuf must leave them to it.
    name="PETSc $synchronisation, shared windows over ${protocols[0]}"
    osc=default window_job "$name" "${protocols[0]}" node 120 2 "$work/star_forest" -roots $roots \
        -sf_type window -sf_window_flavor shared -sf_window_sync $synchronisation
    verdict "$name" "$(wrong_checked)" "$took s"
done
tally
