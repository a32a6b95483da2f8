#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# LAMMPS: a Lennard-Jones melt on 4 ranks. Its thermodynamic output, printed to 15 digits, is to be the
# same over rbuf as over TCP: the reductions have the same order on every transport of ob1.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands LAMMPS lmp
cd "$work" || exit 1

steps=60
cells=20
if [ "$programs_all" = yes ]; then
    steps=400
    cells=32
fi

# The lines of the table of temperature, energies and pressure.
thermodynamics() {
    awk '/^ *Step/ { table = 1 } /^Loop time/ { table = 0 } table' "$1"
}

melt() { # NAME TRANSPORT: the table is written to $work/TRANSPORT
    job "$1" "$2" 400 4 lmp -in "$here/melt.in" -var steps $steps -var cells $cells -log none
    thermodynamics "$log" >"$work/$2"
}

name="LAMMPS melt over tcp"
melt "$name" tcp
if [ -n "$(wrong_end)" ] || [ "$(wc -l <"$work/tcp")" -lt 5 ]; then
    skip LAMMPS "does not run over tcp either: $(wrong_end)"
    show_log "$name"
    tally
    exit
fi
for protocol in "${protocols[@]}"; do
    name="LAMMPS melt over $protocol"
    melt "$name" "$protocol"
    wrong=$(wrong_end)
    if [ -z "$wrong" ] && ! cmp -s "$work/tcp" "$work/$protocol"; then
        wrong="not what it is over tcp: $(diff "$work/tcp" "$work/$protocol" | sed -n 2p)"
    fi
    verdict "$name" "$wrong" "$((cells * cells * cells * 4)) atoms, $steps steps, to 15 digits as over tcp"
done
tally
