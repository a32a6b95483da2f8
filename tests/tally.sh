# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the test scripts: the counts of contrib/softhca/tests/tally.sh, and what jobs of Open MPI want
# besides. The caller sets TALLY_LOGS, a directory.

# shellcheck source=contrib/softhca/tests/tally.sh
. "$(dirname "${BASH_SOURCE[0]}")/../contrib/softhca/tests/tally.sh"

# Open MPI's launcher ends with 77 if a job has more ranks than there are slots.
# shellcheck disable=SC2034 # read by try
TALLY_NO_SKIP='not enough slots'

# True if mpirun has lost a help text. Open MPI 4.1's loses texts that two processes send at the same
# moment, and says so (its issue 8356), or dies of them: no rank calls pmix_server_log_fn(). Or it takes
# the job's files away when a rank has failed and another one is about to say so.
lost_text() { # WRONG LOG
    local missed='[0-9] messages$|not named|not said|nobody says|no message'
    grep -q 'libopen-rte.*pmix_server_log_fn' "$2" ||
        { [[ $1 =~ $missed ]] && grep -q -E 'ORTE_ERROR_LOG.*show_help\.c|PMIX ERROR.*dstore' "$2"; }
}

# Runs a job whose help texts matter: a function of the caller's, which sets log to the job's output and
# wrong to what is wrong with it. If mpirun has lost a text and that is all that is wrong, the job is run
# again, at most nine times: on a busy machine it loses one in four.
until_told() { # FUNCTION [ARGUMENT...]
    for _ in {1..10}; do
        "$@"
        lost_text "$wrong" "$log" || return 0
    done
}
