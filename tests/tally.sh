# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Sourced by the test scripts: counts what passed, failed and was skipped, keeps a log of each check
# and shows it when the check fails. The caller sets TALLY_LOGS, a directory.

# shellcheck source=contrib/softhca/tests/patience.sh
. "$(dirname "${BASH_SOURCE[0]}")/../contrib/softhca/tests/patience.sh"

passed=0
failed=0
skipped=0

pass() { # NAME [REMARK]
    passed=$((passed + 1))
    printf 'PASS  %s%s\n' "$1" "${2:+: $2}"
}

fail() { # NAME [REMARK]
    failed=$((failed + 1))
    printf 'FAIL  %s%s\n' "$1" "${2:+: $2}"
}

skip() { # NAME REASON
    skipped=$((skipped + 1))
    printf 'SKIP  %s: %s\n' "$1" "$2"
}

log_of() { # NAME: the path of that check's log
    printf '%s/%s.log\n' "$TALLY_LOGS" "$(printf '%s' "$1" | tr -cs 'A-Za-z0-9._-' '_')"
}

show_log() { # NAME [LINES]
    tail -n "${2:-25}" "$(log_of "$1")" | sed 's/^/      | /'
}

# Runs the command, at most TALLY_TIMEOUT (60) seconds, and counts it: exit status 0 passes, 77 is
# skipped with the last line of the output as the reason, all else fails. So does a 77 of Open MPI's launcher,
# which ends with it if a job has more ranks than there are slots. A function of the caller's may
# stand for the command; it sees to its own end. Returns 1 if the check failed.
try() { # NAME COMMAND...
    local name=$1 status=0 limit=(timeout -k 5 "$(patience_for "${TALLY_TIMEOUT:-60}")")
    shift
    declare -F "$1" >/dev/null && limit=()
    "${limit[@]}" "$@" >"$(log_of "$name")" 2>&1 </dev/null || status=$?
    test $status -ne 77 || ! grep -q 'not enough slots' "$(log_of "$name")" || status=78
    case $status in
    0) pass "$name" ;;
    77) skip "$name" "$(tail -n 1 "$(log_of "$name")")" ;;
    *)
        fail "$name" "exit status $status"
        show_log "$name"
        return 1
        ;;
    esac
}

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

# Runs another script of this kind: passes its lines on and adds what the last one counts.
try_script() { # NAME COMMAND...
    local name=$1 line=
    shift
    while IFS= read -r line; do
        if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
            passed=$((passed + BASH_REMATCH[1]))
            failed=$((failed + BASH_REMATCH[2]))
            skipped=$((skipped + BASH_REMATCH[3]))
            return
        fi
        printf '%s\n' "$line"
    done < <("$@" 2>&1 </dev/null)
    fail "$name" "it ended without a count"
}

# The last line of every test script, and its exit status.
tally() {
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    test "$failed" -eq 0
}
