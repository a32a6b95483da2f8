#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# NWChem on 2 ranks: the energy of a molecule of water (water.nw), by Global Arrays upon ARMCI-MPI. It is to be the
# same over rbuf as over tcp with messages, to 8 digits behind the point.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands NWChem mpicc nwchem

energies() {
    awk '/Total (SCF|MP2) energy/ { printf "%s %.8f\n", $2, $NF }' "$log"
}

wrong_energies() {
    wrong_end | grep . && return
    [ "$(energies)" = "$expected" ] || echo "not the energies of tcp: $(energies | paste -s -d ' ')"
}

if ! build_with_mix; then
    skip NWChem "mix.c cannot be built"
    tally
    exit
fi
cd "$work" || exit 1
cp "$here/water.nw" . || exit 1
[ "$programs_all" = no ] || echo "task mp2 energy" >>water.nw
name="NWChem, water, over tcp"
osc=pt2pt job "$name" tcp 300 2 nwchem water.nw
expected=$(energies)
if [ -n "$(wrong_end)" ] || [ -z "$expected" ]; then
    skip NWChem "does not run over tcp either: $(wrong_end)"
    show_log "$name"
    tally
    exit
fi
with_windows "NWChem, water" wrong_energies 300 2 nwchem water.nw
tally
