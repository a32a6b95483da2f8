# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the test scripts: counts what passed, failed and was skipped, keeps a log of each check
# and shows it when the check fails. The caller sets TALLY_LOGS, a directory; and TALLY_NO_SKIP, if a
# program that it runs ends with 77 for another reason: a regular expression of what the log then has.

# shellcheck source=contrib/softhca/tests/patience.sh
. "$(dirname "${BASH_SOURCE[0]}")/patience.sh"

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
# skipped with the last line of the output as the reason, all else fails. So does a 77 that
# TALLY_NO_SKIP says is none. A function of the caller's may stand for the command; it sees to its own
# end. Returns 1 if the check failed.
try() { # NAME COMMAND...
    local name=$1 status=0 limit=(timeout -k 5 "$(patience_for "${TALLY_TIMEOUT:-60}")")
    shift
    declare -F "$1" >/dev/null && limit=()
    "${limit[@]}" "$@" >"$(log_of "$name")" 2>&1 </dev/null || status=$?
    if test $status -eq 77 && test -n "${TALLY_NO_SKIP-}" && grep -qE "$TALLY_NO_SKIP" "$(log_of "$name")"; then
        status=78
    fi
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
