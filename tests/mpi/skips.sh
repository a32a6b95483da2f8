#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What the test scripts make of exit status 77: skipped if a test has said so, and a failure if it is the
# launcher's, as Open MPI 6 ends where there are not enough slots.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# launcher TEXT: a stand-in for mpirun that says it and ends so.
launcher() {
    printf '#!/bin/sh\ncase $* in *--version*) echo "mpirun (Open MPI) 6.0.0"; exit 0 ;; esac\necho "%s"\nexit 77\n' "$1" \
        >"$work/mpirun"
    chmod +x "$work/mpirun"
}

# counts WANTED TEXT: of tests/mpi/run.sh with one test.
counts() {
    launcher "$2"
    printf '#!/bin/sh\n' >"$work/finalize"
    chmod +x "$work/finalize"
    last=$(MPIRUN=$work/mpirun "$here/run.sh" --bin "$work" --transports tcp --only '^finalize$' | tail -n 1)
    [ "$last" = "$1" ] || { echo "run.sh: '$last' instead of '$1' where the launcher says '$2'" && exit 1; }
}

# tries WANTED TEXT: of a check of tests/tally.sh.
tries() {
    launcher "$2"
    last=$(
        TALLY_LOGS=$work
        # shellcheck source=tests/tally.sh
        . "$here/../tally.sh"
        try check "$work/mpirun" >/dev/null
        tally
    )
    [ "$last" = "$1" ] || { echo "tally.sh: '$last' instead of '$1' where the launcher says '$2'" && exit 1; }
}

slots="There are not enough slots available in the system to satisfy the 4"
counts "0 passed, 0 failed, 1 skipped" "skip: wants more ranks"
counts "0 passed, 1 failed, 0 skipped" "$slots"
tries "0 passed, 0 failed, 1 skipped" "no such program here"
tries "0 passed, 1 failed, 0 skipped" "$slots"
