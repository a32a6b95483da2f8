#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A component in the hands of another series of Open MPI than it was built for is off, and says why.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
other=$TALLY_LOGS/other_series.so

wrong_series() {
    wrong_failure 30 | grep . && return
    if [ "$(lines_with 'This build of the rbuf transport is for another series')" != 1 ]; then
        echo "not said once"
    elif ! grep -q -E 'Built for: +Open MPI [0-9]+\.[0-9]+' "$log"; then
        echo "what it was built for is not said"
    elif ! grep -q -E 'Running: +Open MPI 5\.0\.9' "$log"; then
        echo "what runs is not said"
    fi
}

job_of_series() {
    job "another series" 30 2 "$mpi_tests/finalize" nothing
    wrong=$(wrong_series)
}

${CC:-cc} -shared -fPIC -o "$other" "$here/series.c" || exit 1
# The emulated adapter's preload is there already, in the environment of the ranks.
wrap=(sh -c 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$other")
until_told job_of_series
verdict "another series" "$wrong"

# Where it was not asked for by name, the others go on without it.
btls=^openib,ofi,tcp
job "another series, not asked for" 30 2 "$mpi_tests/finalize"
verdict "another series, not asked for" "$(wrong_success)"
tally
