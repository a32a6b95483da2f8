#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# UCX, unmodified, on the emulated adapter: MPI programs with checked bytes over Open MPI's PML for it. What
# rbuf is compared with has to be right as well; and a client that knows nothing of the emulation says
# more for it than those written beside it.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

if ! transport_available ucx; then
    skip UCX "this Open MPI has no $transport_missing"
    tally
    exit
fi
only='^(pingpong|window|types|many-to-one|storm-large|probe|collectives|one-sided|remap)$'
# All but what is not for UCX, or for Open MPI 4.1.4's osc/ucx: memory that may only be read, what lies outside of a
# window, dynamic windows, and accumulates of types that UCX has no atomic operations for. What rbuf's memory is
# bounded by says nothing of UCX, nor does how a job ends that has lost a peer: here it hung, once.
not_for_ucx='^(large-[24]|memory.*|read-only|lost-peer|scheduled|accumulate-(plain|apart)|epochs(|-alone|-5|-apart|-apart-3|-packed|-packed-8))$'
[ "$programs_all" = no ] ||
    only="^($(awk '/^[a-z]/ { print $1 }' "$here/../mpi/testlist" | grep -Ev "$not_for_ucx" | paste -s -d '|'))\$"
log=$(log_of ucx)
"$here/../mpi/run.sh" --transports ucx --only "$only" >"$log" 2>&1 </dev/null
grep -E '^(PASS|FAIL|SKIP)' "$log"
if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    passed=${BASH_REMATCH[1]}
    failed=${BASH_REMATCH[2]}
    skipped=${BASH_REMATCH[3]}
    [ "$failed" = 0 ] || grep '^      |' "$log"
    [ "$passed" -gt 0 ] || fail UCX "nothing was run"
else
    fail UCX "tests/mpi/run.sh ended without a count"
    show_log ucx
fi
tally
